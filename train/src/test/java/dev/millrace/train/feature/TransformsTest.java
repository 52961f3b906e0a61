package dev.millrace.train.feature;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.runtime.LocalSession;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.layers.EmbeddingBag.Combiner;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What TensorFlow makes of features, bit for bit; {@code transforms.py} is what wrote it down. */
class TransformsTest {
  private static final Map<String, String[]> GOLDEN = new HashMap<>();

  static {
    try (InputStream in = TransformsTest.class.getResourceAsStream("transforms.txt")) {
      for (String line : new String(in.readAllBytes(), StandardCharsets.UTF_8).split("\n")) {
        String[] parts = line.split(" ");
        GOLDEN.put(parts[0], Arrays.copyOfRange(parts, 1, parts.length));
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static String[] words() {
    return Arrays.stream(GOLDEN.get("words"))
        .map(w -> w.equals("-") ? "" : w)
        .map(w -> new String(HexFormat.of().parseHex(w), StandardCharsets.UTF_8))
        .toArray(String[]::new);
  }

  private static long[] longs(String name) {
    return Arrays.stream(GOLDEN.get(name)).mapToLong(Long::parseLong).toArray();
  }

  private static float[] floats(String name) {
    String[] bits = GOLDEN.get(name);
    float[] values = new float[bits.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = Float.intBitsToFloat(Integer.parseUnsignedInt(bits[i], 16));
    }
    return values;
  }

  /** A graph whose columns are constants. */
  private static final class Columns {
    private final Graph graph = StandardOps.newGraph();
    private final VariableScope variables = VariableScope.of(Scope.of(graph));
    private final Map<String, Output> all = new HashMap<>();

    Columns with(String name, Tensor value) {
      all.put(name, Const.of(Scope.of(graph), value));
      return this;
    }

    Tensor run(Output output) {
      return run(output, null);
    }

    /** Runs with the only variable set to {@code table}, if there is one. */
    Tensor run(Output output, Tensor table) {
      try (LocalSession session = new LocalSession(graph)) {
        VocabularyTable.initializers(graph).forEach(session::run);
        if (table != null) {
          GraphVariable v = Variables.global(graph).getFirst();
          session.run(v.assign(Scope.of(graph), Const.of(Scope.of(graph), table)));
        }
        return session.fetch(output);
      }
    }

    long[] ids(Categories categories) {
      try (Tensor t = run(categories.ids(variables, all))) {
        return t.toLongs();
      }
    }

    float[] values(Feature feature, Tensor table) {
      try (Tensor t = run(feature.build(variables, all), table)) {
        return t.toFloats();
      }
    }
  }

  @Test
  void categoriesAreTensorFlows() {
    Columns c =
        new Columns()
            .with("word", Tensor.vector(words()))
            .with("number", Tensor.vector(longs("numbers")))
            .with("float", Tensor.vector(floats("floats")));
    Column word = Column.of("word", DType.STRING);
    assertArrayEquals(longs("hashed"), c.ids(Categories.hashed("word", 100_000)));
    assertArrayEquals(
        longs("hashed.numbers"), c.ids(Categories.hashed(Column.of("number", DType.INT64), 1000)));
    List<String> vocabulary = List.of(words()).subList(1, 12);
    assertArrayEquals(longs("vocabulary"), c.ids(Categories.vocabulary(word, vocabulary, 5)));
    assertArrayEquals(
        longs("bucketized"),
        c.ids(Categories.bucketized(Column.of("float", DType.FLOAT), -10.5f, 0, 18, 25, 60)));
  }

  @Test
  void crossesAreTensorFlows() {
    int n = longs("numbers").length;
    String[] words = words();
    Columns c =
        new Columns()
            .with("left", Tensor.vector(Arrays.copyOf(words, n)))
            .with("right", Tensor.vector(Arrays.copyOfRange(words, words.length - n, words.length)))
            .with("number", Tensor.vector(longs("numbers")));
    Column left = Column.of("left", DType.STRING);
    Column right = Column.of("right", DType.STRING);
    Column number = Column.of("number", DType.INT64);
    assertArrayEquals(longs("crossed"), c.ids(Categories.crossed("x", 10_000, left, right)));
    assertArrayEquals(
        longs("crossed.numbers"), c.ids(Categories.crossed("y", 100_000, left, number, right)));
  }

  @Test
  void numbersAreTensorFlows() {
    Columns c = new Columns().with("float", Tensor.vector(floats("floats")));
    ColumnStatistics statistics = new ColumnStatistics(new float[] {3.25f}, new float[] {1.7f});
    assertArrayEquals(
        floats("normalized"), c.values(Feature.number("float").normalized(statistics), null));
    float[] expected = floats("logarithm");
    float[] found = c.values(Feature.number("float").logarithm(), null);
    for (int i = 0; i < expected.length; i++) { // libraries differ in the last bit of a logarithm
      assertEquals(expected[i], found[i], Math.ulp(expected[i]), "number " + i);
    }
  }

  @Test
  void bagsAndHotVectorsAreTensorFlows() {
    Column ids = Column.list("ids", DType.INT64, 4);
    Column weights = Column.list("weights", DType.FLOAT, 4);
    Categories categories = Categories.numbered(ids, 8);
    for (Combiner combiner : Combiner.values()) {
      for (boolean weighted : new boolean[] {false, true}) {
        Columns c =
            new Columns()
                .with("ids", Tensor.of(Shape.of(20, 4), longs("ids")))
                .with("weights", Tensor.of(Shape.of(20, 4), floats("weights")));
        Feature bag =
            weighted
                ? categories.embedding(3, combiner, weights)
                : categories.embedding(3, combiner);
        String name =
            combiner.name().toLowerCase(java.util.Locale.ROOT).replace("_", "")
                + (weighted ? ".weighted" : "");
        float[] found = c.values(bag, Tensor.of(Shape.of(8, 3), floats("table")));
        assertArrayEquals(floats(name), found, 1e-6f, name);
      }
    }
    Columns c = new Columns().with("ids", Tensor.of(Shape.of(20, 4), longs("ids")));
    float[] hot = c.values(categories.oneHot(), null);
    long[] expected = longs("one_hot");
    for (int i = 0; i < expected.length; i++) {
      assertEquals((float) expected[i], hot[i], "place " + i);
    }
  }
}
