package dev.millrace.interop;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.GraphDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RealTensorFlowTest {
  private final GraphWriter graph = new GraphWriter();

  @Test
  void itsVersionIsTheOneTheBuildNames() {
    assertTrue(RealTensorFlow.version().startsWith("2.18."), RealTensorFlow.version());
  }

  @Test
  void aStepComputesItsFetchesFromItsFeeds() {
    graph.placeholder("x", DType.FLOAT, Shape.of(2, 3));
    graph.constant("w", Tensor.of(Shape.of(3, 1), 1f, 10f, 100f));
    graph.add("y", "MatMul", Map.of(), "x", "w");
    try (RealTensorFlow tf = RealTensorFlow.of(graph.build())) {
      Tensor x = Tensor.of(Shape.of(2, 3), 1f, 2f, 3f, 4f, 5f, 6f);
      Tensor y = tf.run(Map.of("x", x), List.of("y"), List.of()).getFirst();
      assertEquals(Shape.of(2, 1), y.shape());
      assertArrayEquals(new float[] {321, 654}, y.toFloats());
    }
  }

  @ParameterizedTest
  @EnumSource(
      names = {"RESOURCE", "VARIANT", "STRING"},
      mode = EnumSource.Mode.EXCLUDE)
  void everyPlainTypeGoesThroughUnchanged(DType dtype) {
    Tensor in = Tensor.allocate(dtype, Shape.of(3, 5));
    byte[] bytes = new byte[(int) in.byteSize()];
    new Random(1).nextBytes(bytes);
    for (int i = 0; i < bytes.length; i++) {
      in.data()
          .set(
              java.lang.foreign.ValueLayout.JAVA_BYTE,
              i,
              dtype == DType.BOOL ? (byte) (bytes[i] & 1) : bytes[i]);
    }
    Tensor out = identity(in);
    assertEquals(dtype, out.dtype());
    assertEquals(in.shape(), out.shape());
    assertEquals(-1, in.data().mismatch(out.data()));
  }

  @Test
  void emptyTensorsKeepTheirShape() {
    Tensor in = Tensor.of(Shape.of(3, 0, 2), new float[0]);
    assertEquals(in.shape(), identity(in).shape());
  }

  @Test
  void stringsOfAnyLengthGoThroughUnchanged() {
    String longer = "more than fits into the short form of a string ".repeat(100);
    Tensor in = Tensor.of(Shape.of(2, 2), "", "short", "grün", longer);
    Tensor out = identity(in);
    assertEquals(in.shape(), out.shape());
    assertArrayEquals(in.toStrings(), out.toStrings());
    byte[] raw = {0, -1, 0, 7};
    Tensor bytes = Tensor.ofObjects(DType.STRING, Shape.scalar(), new Object[] {raw});
    assertArrayEquals(raw, identity(bytes).bytesAt(0));
  }

  @Test
  void whatItWasLentItGivesBack() {
    int before = NativeTensor.lent();
    identity(Tensor.vector(1f, 2f));
    identity(Tensor.vector("a string that is too long for the short form"));
    assertEquals(before, NativeTensor.lent());
  }

  @Test
  void aFedValueKeptInAVariableOutlivesItsTensor() {
    graph.placeholder("x", DType.FLOAT, Shape.of(1000));
    graph.add("v", "VarHandleOp", Map.of("dtype", DType.FLOAT, "shape", Shape.of(1000)));
    graph.add("assign", "AssignVariableOp", Map.of(), "v", "x");
    graph.add("read", "ReadVariableOp", Map.of("dtype", DType.FLOAT), "v");
    try (RealTensorFlow tf = RealTensorFlow.of(graph.build())) {
      try (Tensor x = filled(1000, 7f)) {
        tf.run(Map.of("x", x), List.of(), List.of("assign"));
      }
      try (Tensor other = filled(1000, 9f)) {
        assertEquals(9f, other.doubleAt(0));
        assertEquals(7f, tf.run(Map.of(), List.of("read"), List.of()).getFirst().doubleAt(999));
      }
    }
  }

  @Test
  void shapesAreInferredAsFarAsTheyAreKnown() {
    graph.placeholder("x", DType.FLOAT, Shape.of(-1, 3));
    graph.placeholder("any", DType.FLOAT, Shape.unknown());
    graph.constant("w", Tensor.of(Shape.of(3, 1), 1f, 2f, 3f));
    graph.add("y", "MatMul", Map.of(), "x", "w");
    graph.add("z", "Relu", Map.of(), "any");
    try (RealTensorFlow tf = RealTensorFlow.of(graph.build())) {
      assertEquals(Shape.of(-1, 1), tf.inferredShape("y"));
      assertEquals(Shape.unknown(), tf.inferredShape("z:0"));
      assertEquals(DType.FLOAT, tf.dtype("y:0"));
    }
  }

  @Test
  void gradientsAreThoseOfTheSum() {
    graph.placeholder("x", DType.DOUBLE, Shape.of(3));
    graph.placeholder("unused", DType.DOUBLE, Shape.of(3));
    graph.add("y", "Square", Map.of(), "x");
    try (RealTensorFlow tf = RealTensorFlow.of(graph.build())) {
      Map<String, String> gradients = tf.addGradients(List.of("y"), List.of("x"));
      Tensor dx =
          tf.run(Map.of("x", Tensor.vector(1.0, 2.0, 3.0)), List.of(gradients.get("x")), List.of())
              .getFirst();
      assertArrayEquals(new double[] {2, 4, 6}, dx.toDoubles());
      assertTrue(tf.graphDef().getNodeCount() > 3);
      assertThrows(MillraceException.class, () -> tf.addGradients(List.of("y"), List.of("unused")));
    }
  }

  @Test
  void errorsCarryTensorFlowsCodeAndMessage() {
    GraphDef unknownOp =
        GraphDef.newBuilder()
            .addNode(dev.millrace.proto.NodeDef.newBuilder().setName("n").setOp("Rleu"))
            .build();
    assertEquals(
        Code.NOT_FOUND,
        assertThrows(MillraceException.class, () -> RealTensorFlow.of(unknownOp)).code());
    graph.placeholder("x", DType.FLOAT, Shape.unknown());
    graph.add("y", "Relu", Map.of(), "x");
    try (RealTensorFlow tf = RealTensorFlow.of(graph.build())) {
      MillraceException e =
          assertThrows(MillraceException.class, () -> tf.run(Map.of(), List.of("y"), List.of()));
      assertEquals(Code.INVALID_ARGUMENT, e.code());
      assertTrue(e.getMessage().contains("must feed a value"), e.getMessage());
    }
  }

  @Test
  void aStepThatWaitsForEverEndsAtItsDeadline() {
    graph.add("q", "FIFOQueueV2", Map.of("component_types", List.of(DType.FLOAT)));
    graph.add("take", "QueueDequeueV2", Map.of("component_types", List.of(DType.FLOAT)), "q");
    TensorFlowSessionOptions options =
        TensorFlowSessionOptions.local().withStepTimeout(Duration.ofMillis(50));
    try (RealTensorFlow tf = RealTensorFlow.of(graph.build(), options)) {
      MillraceException e =
          assertThrows(MillraceException.class, () -> tf.run(Map.of(), List.of("take"), List.of()));
      assertEquals(Code.DEADLINE_EXCEEDED, e.code());
    }
  }

  @Test
  void aPreparedStepRunsAgainWithOtherValues() {
    graph.placeholder("x", DType.FLOAT, Shape.scalar());
    graph.add("y", "Square", Map.of(), "x");
    try (RealTensorFlow tf =
            RealTensorFlow.of(graph.build(), TensorFlowSessionOptions.local().withThreads(1));
        PreparedStep step = tf.prepare(List.of("x"), List.of("y"), List.of())) {
      assertEquals(9f, step.bind(List.of(Tensor.scalar(3f))).fetch().getFirst().floatValue());
      assertEquals(25f, step.bind(List.of(Tensor.scalar(5f))).fetch().getFirst().floatValue());
      step.run();
    }
  }

  @Test
  void typesAndListLengthsFollowFromTheInputs() {
    graph.constant("a", Tensor.vector(1, 2));
    graph.constant("b", Tensor.vector(3));
    graph.constant("axis", Tensor.scalar(0));
    graph.add("c", "ConcatV2", Map.of(), "a", "b", "axis");
    try (RealTensorFlow tf = RealTensorFlow.of(graph.build())) {
      assertArrayEquals(
          new int[] {1, 2, 3}, tf.run(Map.of(), List.of("c"), List.of()).getFirst().toInts());
    }
    assertEquals(DType.INT32, graph.dtype("c"));
  }

  private static Tensor identity(Tensor in) {
    GraphWriter g = new GraphWriter();
    g.placeholder("x", in.dtype(), Shape.unknown());
    g.add("y", "Identity", Map.of(), "x");
    try (RealTensorFlow tf = RealTensorFlow.of(g.build())) {
      return tf.run(Map.of("x", in), List.of("y"), List.of()).getFirst();
    }
  }

  private static Tensor filled(int n, float value) {
    float[] values = new float[n];
    java.util.Arrays.fill(values, value);
    return Tensor.of(Shape.of(n), values);
  }

  @Test
  void utf8IsWhatStringsAre() {
    assertArrayEquals(
        "grün".getBytes(StandardCharsets.UTF_8), identity(Tensor.scalar("grün")).bytesAt(0));
  }
}
