package dev.millrace.train.feature;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.proto.BytesList;
import dev.millrace.proto.Example;
import dev.millrace.proto.Features;
import dev.millrace.proto.FloatList;
import dev.millrace.proto.Int64List;
import dev.millrace.runtime.LocalSession;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.data.csv.CsvFiles;
import dev.millrace.train.data.csv.CsvSchema;
import dev.millrace.train.layers.EmbeddingBag.Combiner;
import dev.millrace.train.variable.Reuse;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FeatureSpecTest {
  private static final Column SITE = Column.of("site", DType.STRING);
  private static final Column DEVICE = Column.of("device", DType.STRING);
  private static final Column TAGS = Column.list("tags", DType.INT64, 3);
  private static final Column WEIGHTS = Column.list("tag weights", DType.FLOAT, 3);

  private static final FeatureSpec SPEC =
      FeatureSpec.of(
              Feature.number("price")
                  .normalized(new ColumnStatistics(new float[] {2}, new float[] {4})),
              Feature.numbers(Column.vector("I", DType.FLOAT, "I", 1, 2).orElse("0")).logarithm(),
              Categories.hashed(SITE, 50).embedding(4),
              Categories.vocabulary(DEVICE, List.of("phone", "tablet"), 1).oneHot(),
              Categories.crossed("site_device", 20, SITE, DEVICE).embedding(2),
              Categories.numbered(TAGS, 9).embedding(3, Combiner.SUM, WEIGHTS))
          .withLabels(Column.of("click", DType.FLOAT));

  private static final int WIDTH = 1 + 2 + 4 + 3 + 2 + 3;

  private static final String CSV =
      """
      click,price,I1,I2,site,device,tags,tag weights
      1,6,0,3,a.com,phone,1|2,.5|2
      0,2,1,,b.com,fridge,,
      1,4,7,1,a.com,tablet,8|8|3,1|1|1
      """;

  @TempDir Path folder;

  private Dataset csv() throws IOException {
    Path file = Files.writeString(folder.resolve("a.csv"), CSV);
    CsvSchema schema = CsvSchema.of(SPEC.columns()).withHeader();
    return CsvFiles.read(schema, List.of(file));
  }

  private static dev.millrace.proto.Feature.Builder floats(float... values) {
    FloatList.Builder list = FloatList.newBuilder();
    for (float v : values) {
      list.addValue(v);
    }
    return dev.millrace.proto.Feature.newBuilder().setFloatList(list);
  }

  private static dev.millrace.proto.Feature.Builder longs(long... values) {
    Int64List.Builder list = Int64List.newBuilder();
    for (long v : values) {
      list.addValue(v);
    }
    return dev.millrace.proto.Feature.newBuilder().setInt64List(list);
  }

  private static dev.millrace.proto.Feature.Builder text(String value) {
    return dev.millrace.proto.Feature.newBuilder()
        .setBytesList(BytesList.newBuilder().addValue(ByteString.copyFromUtf8(value)));
  }

  private static byte[] example(Map<String, dev.millrace.proto.Feature.Builder> features) {
    Features.Builder all = Features.newBuilder();
    features.forEach((name, f) -> all.putFeature(name, f.build()));
    return Example.newBuilder().setFeatures(all).build().toByteArray();
  }

  private static Object[] examples() {
    return new Object[] {
      example(
          Map.of(
              "price",
              floats(6),
              "I1",
              floats(0),
              "I2",
              floats(3),
              "site",
              text("a.com"),
              "device",
              text("phone"),
              "tags",
              longs(1, 2),
              "tag weights",
              floats(.5f, 2))),
      example(
          Map.of(
              "price",
              floats(2),
              "I1",
              floats(1),
              "site",
              text("b.com"),
              "device",
              text("fridge"))),
      example(
          Map.of(
              "price",
              floats(4),
              "I1",
              floats(7),
              "I2",
              floats(1),
              "site",
              text("a.com"),
              "device",
              text("tablet"),
              "tags",
              longs(8, 8, 3),
              "tag weights",
              floats(1, 1, 1)))
    };
  }

  @Test
  void readingTheGraphAndBothSignaturesAgree() throws IOException {
    Graph graph = StandardOps.newGraph();
    VariableScope variables = VariableScope.of(Scope.of(graph)).withReuse(Reuse.AUTO);
    Map<String, Output> inputs = SPEC.inputs(Scope.of(graph));
    Output raw = SPEC.build(variables, inputs);
    assertEquals(Shape.of(-1, WIDTH), raw.shape());
    Output serialized =
        Placeholder.of(Scope.of(graph).withName("examples"), DType.STRING, Shape.of(-1));
    Output parsed = SPEC.build(variables, SPEC.parse(Scope.of(graph), serialized));
    try (LocalSession session = new LocalSession(graph);
        Elements rows = csv().batch(10, false).elements();
        Tensor examples = Tensor.ofObjects(DType.STRING, Shape.of(3), examples())) {
      session.run(Variables.initializer(Scope.of(graph)));
      VocabularyTable.initializers(graph).forEach(session::run);
      Tensor[] batch = rows.next();
      Map<Output, Tensor> feeds = new LinkedHashMap<>();
      int i = 1; // behind the label
      for (Output input : inputs.values()) {
        feeds.put(input, batch[i++]);
      }
      try (Tensor a = session.fetch(raw, feeds);
          Tensor b = session.fetch(parsed, Map.of(serialized, examples))) {
        assertArrayEquals(a.toFloats(), b.toFloats());
        assertEquals(1, a.doubleAt(0), "(6 - 2) / 4");
        assertEquals((float) Math.log(4), a.doubleAt(2), 1e-6);
        assertEquals(1, a.doubleAt(7), "phone");
        assertEquals(1, a.doubleAt(WIDTH + 9), "no known device");
        assertEquals(0, a.doubleAt(2 * WIDTH - 1), "no tags");
      }
      Elements.release(batch);
    }
  }

  @Test
  void variablesAreSharedByTheFeaturesOfBothSignatures() {
    Graph graph = StandardOps.newGraph();
    VariableScope variables = VariableScope.of(Scope.of(graph)).withReuse(Reuse.AUTO);
    SPEC.build(variables, SPEC.inputs(Scope.of(graph)));
    SPEC.build(variables, SPEC.inputs(Scope.of(graph).withSubScope("other")));
    assertEquals(
        List.of("features/site/table", "features/site_device/table", "features/tags/table"),
        Variables.global(graph).stream().map(v -> v.name()).toList());
  }

  @Test
  void statisticsAreThoseOfTheData() throws IOException {
    ColumnStatistics prices = ColumnStatistics.of(csv(), SPEC.columns(), "price");
    assertArrayEquals(new float[] {4}, prices.means());
    assertArrayEquals(new float[] {(float) Math.sqrt(8 / 3.)}, prices.deviations());
    ColumnStatistics both = ColumnStatistics.of(csv(), SPEC.columns(), "I");
    assertArrayEquals(new float[] {8 / 3f, 4 / 3f}, both.means(), 1e-6f);
  }

  @Test
  void contradictionsAreRefused() {
    assertMessage(
        "Column 'site' is described twice",
        () ->
            FeatureSpec.of(
                Categories.hashed("site", 5).oneHot(),
                Categories.hashed(SITE.orElse("none"), 5).oneHot()));
    assertMessage(
        "Column 'price' is a label and a feature at once.",
        () -> FeatureSpec.of(Feature.number("price")).withLabels(Column.of("price", DType.FLOAT)));
    assertMessage("Column 'site' has no numbers.", () -> Feature.numbers(SITE));
    assertMessage(
        "The features need column 'price'; given are []",
        () ->
            FeatureSpec.of(Feature.number("price"))
                .build(VariableScope.of(Scope.of(StandardOps.newGraph())), Map.of()));
  }

  private static void assertMessage(String start, org.junit.jupiter.api.function.Executable e) {
    String message = assertThrows(MillraceException.class, e).getMessage();
    assertTrue(message.startsWith(start), message);
  }
}
