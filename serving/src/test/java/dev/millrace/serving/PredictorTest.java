package dev.millrace.serving;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.MetaGraphDef;
import dev.millrace.proto.NodeDef;
import dev.millrace.proto.SavedModel;
import dev.millrace.serving.model.ModelSignature;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An exported model predicts what it predicted where it was trained; mistakes are named. */
class PredictorTest {
  @TempDir Path folder;
  private ClickModel model;
  private Path exported;

  @BeforeEach
  void export() throws IOException {
    model = new ClickModel(folder.resolve("sites.txt"), 5);
    exported = folder.resolve("export");
    model.export(exported);
    // The export has a copy.
    Files.delete(folder.resolve("sites.txt"));
  }

  @AfterEach
  void close() {
    model.close();
  }

  private static final String[] SITES = {"a.org", "c.org", "elsewhere.org"};
  private static final long[] ADS = {1, 99, 5};
  private static final float[] PRICES = {.5f, 2, -1};

  private static Map<String, ?> row(int i) {
    return Map.of("site", SITES[i], "ad", ADS[i], "price", PRICES[i]);
  }

  @Test
  void predictsWhatTheModelInTrainingPredicts() {
    float[] expected = model.expected(SITES, ADS, PRICES);
    try (Predictor p = Predictor.load(exported);
        Tensor site = Tensor.vector(SITES);
        Tensor ad = Tensor.vector(ADS);
        Tensor price = Tensor.vector(PRICES)) {
      try (Prediction out = p.predict(Map.of("site", site, "ad", ad, "price", price))) {
        assertArrayEquals(expected, out.floats("click"), 1e-6f);
        assertArrayEquals(expected, out.only().toFloats(), 1e-6f);
      }
      try (Prediction out = p.predictRow(row(1))) {
        assertEquals(expected[1], out.only().floatValue(), 1e-6f);
      }
      try (Prediction out = p.predictRows("serving_default", List.of(row(2), row(0)))) {
        assertArrayEquals(new float[] {expected[2], expected[0]}, out.floats("click"), 1e-6f);
      }
    }
  }

  @Test
  void exportHasResourceVariablesOnly() throws IOException {
    GraphDef graph = saved().getMetaGraphs(0).getGraphDef();
    List<String> ops = graph.getNodeList().stream().map(NodeDef::getOp).distinct().toList();
    assertTrue(ops.contains("VarHandleOp") && ops.contains("ResourceGather"), ops.toString());
    assertTrue(!ops.contains("VariableV2") && !ops.contains("Assign"), ops.toString());
    assertTrue(graph.getNodeList().stream().allMatch(n -> n.getDevice().isEmpty()));
  }

  private SavedModel saved() throws IOException {
    return SavedModel.parseFrom(Files.readAllBytes(exported.resolve("saved_model.pb")));
  }

  @Test
  void callsOfManyThreadsGetTheirOwnRowsInBatches() throws Exception {
    int threads = 8;
    try (Predictor p =
            Predictor.load(
                exported, PredictorOptions.DEFAULT.withBatches(16, Duration.ofMillis(1)));
        ExecutorService pool = Executors.newFixedThreadPool(threads)) {
      float[] expected = model.expected(SITES, ADS, PRICES);
      List<Future<?>> all = new ArrayList<>();
      for (int t = 0; t < threads; t++) {
        int i = t % 3;
        all.add(
            pool.submit(
                () -> {
                  for (int k = 0; k < 300; k++) {
                    try (Prediction out = p.predictRow(row(i))) {
                      assertEquals(expected[i], out.only().floatValue(), 1e-6f);
                    }
                  }
                }));
      }
      // A row that fails does not fail the rows of others.
      for (int k = 0; k < 50; k++) {
        Map<String, ?> bad = Map.of("site", "a.org", "ad", 1000L, "price", 1f);
        MillraceException e = assertThrows(MillraceException.class, () -> p.predictRow(bad));
        assertEquals(Code.INVALID_ARGUMENT, e.code(), e.getMessage());
      }
      for (Future<?> f : all) {
        f.get(60, TimeUnit.SECONDS);
      }
    }
  }

  @Test
  void mistakesOfACallAreNamed() {
    try (Predictor p = Predictor.load(exported)) {
      assertError(
          "Input 'price' is missing; signature 'serving_default' takes [ad int64[?], price"
              + " float[?], site string[?]].",
          () -> p.predictRow(Map.of("site", "a", "ad", 1)));
      assertError(
          "Signature 'serving_default' has no input 'prize'; it has [ad, price, site]."
              + " Closest: price.",
          () -> p.predictRow(Map.of("site", "a", "ad", 1, "prize", 1)));
      assertError(
          "Input 'ad' is int64; the string 'x' is not one.",
          () -> p.predictRow(Map.of("site", "a", "ad", "x", "price", 1)));
      assertError(
          "The model has no signature 'other'; it has [serving_default].",
          () -> p.signature("other"));
    }
  }

  private static void assertError(String message, Runnable call) {
    MillraceException e = assertThrows(MillraceException.class, call::run);
    assertEquals(message, e.getMessage());
  }

  @Test
  void allMissingOpsAreNamedAtOnce() throws IOException {
    MetaGraphDef.Builder meta = saved().getMetaGraphs(0).toBuilder();
    meta.getGraphDefBuilder()
        .getNodeBuilderList()
        .forEach(
            n -> {
              if (n.getOp().equals("Sigmoid") || n.getOp().equals("Relu")) {
                n.setOp("Unheard" + n.getOp());
              }
            });
    // Not needed for predictions.
    meta.getGraphDefBuilder().addNodeBuilder().setName("other").setOp("AlsoUnheard");
    Files.write(
        exported.resolve("saved_model.pb"),
        saved().toBuilder().setMetaGraphs(0, meta).build().toByteArray());
    assertError(
        "The SavedModel in "
            + exported
            + " needs 2 ops that Millrace does not have: UnheardRelu (['hidden/Relu']);"
            + " UnheardSigmoid (['click']). Export it without them, or add them as an OpLibrary"
            + " (millrace --jars).",
        () -> Predictor.load(exported));
  }

  @Test
  void foldersThatHoldNoModelAreNamed() throws IOException {
    assertError(
        "There is no SavedModel in "
            + folder
            + ": it has no saved_model.pb. Name the folder that has one.",
        () -> Predictor.load(folder));
    Files.delete(exported.resolve("assets").resolve("sites.txt"));
    MillraceException e =
        assertThrows(MillraceException.class, () -> Predictor.load(exported).close());
    assertEquals(Code.DATA_LOSS, e.code());
  }

  @Test
  void closedPredictorRefusesCalls() {
    Predictor p = Predictor.load(exported);
    ModelSignature s = p.signature("");
    p.close();
    assertThrows(MillraceException.class, () -> p.predictRow(row(0)));
    assertEquals(3, s.inputs().size());
  }
}
