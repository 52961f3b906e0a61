package dev.millrace.ops.random;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Eager;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.resource.Resources;
import dev.millrace.ops.Evaluator;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** The numbers expected here were drawn by TensorFlow 2.21. */
class RandomOpsTest {
  private static final float CLOSE = 2e-6f;

  private final Scope s = Scope.of(StandardOps.newGraph());

  /** What a node gives in its first runs. */
  private static Tensor[] runs(Output out, int n) {
    Node node = out.node();
    Kernel kernel = node.op().kernelFor(node);
    Tensor[] in = node.inputs().stream().map(Evaluator::run).toArray(Tensor[]::new);
    Tensor[] results = new Tensor[n];
    for (int i = 0; i < n; i++) {
      results[i] = Refs.handle(Eager.run(node, kernel, new Resources(), in)[0]);
    }
    return results;
  }

  private Output floats(Op op) {
    return RandomNumbers.of(s, op, DType.FLOAT, Shape.of(7), 87654321, 5);
  }

  private void stateful(Op op, float[] first, float[] second) {
    Tensor[] y = runs(floats(op), 2);
    assertArrayEquals(first, y[0].toFloats(), CLOSE);
    assertArrayEquals(second, y[1].toFloats(), CLOSE);
  }

  @Test
  void uniformIsTensorFlows() {
    stateful(
        RandomNumbers.UNIFORM,
        new float[] {
          0.3883112668991089f,
          0.6636828184127808f,
          0.1919107437133789f,
          0.7060526609420776f,
          0.9631834030151367f,
          0.32628321647644043f,
          0.7096301317214966f
        },
        new float[] {
          0.30138111114501953f,
          0.7310445308685303f,
          0.4826173782348633f,
          0.7962597608566284f,
          0.2910754680633545f,
          0.937393069267273f,
          0.5324071645736694f
        });
  }

  @Test
  void normalIsTensorFlows() {
    stateful(
        RandomNumbers.NORMAL,
        new float[] {
          -1.178082823753357f,
          -0.7099413871765137f,
          -1.7481579780578613f,
          -0.4953722655773163f,
          0.24303887784481049f,
          -0.1263130158185959f,
          -0.6639286875724792f
        },
        new float[] {
          -1.5378210544586182f,
          -0.184026300907135f,
          -1.156457543373108f,
          0.34593120217323303f,
          -0.6022078394889832f,
          1.4510999917984009f,
          0.5012836456298828f
        });
  }

  @Test
  void truncatedNormalIsTensorFlows() {
    stateful(
        RandomNumbers.TRUNCATED_NORMAL,
        new float[] {
          -1.178082823753357f,
          -0.7099413871765137f,
          -1.7481579780578613f,
          -0.4953722655773163f,
          -0.864153265953064f,
          1.2457009553909302f,
          -0.9056705236434937f
        },
        new float[] {
          -1.5378210544586182f,
          -0.184026300907135f,
          -1.156457543373108f,
          0.34593120217323303f,
          -1.476979374885559f,
          0.026875438168644905f,
          1.1444542407989502f
        });
  }

  @Test
  void integersAreTensorFlows() {
    Output y = RandomUniformInt.of(s, Const.ints(s, 3, 4), Const.of(s, 0), Const.of(s, 10), 1, 2);
    assertEquals(Shape.of(3, 4), y.shape());
    Tensor[] t = runs(y, 2);
    assertArrayEquals(new int[] {9, 5, 2, 9, 1, 6, 3, 3, 3, 5, 4, 9}, t[0].toInts());
    assertArrayEquals(new int[] {1, 1, 8, 7, 8, 9, 6, 0, 0, 3, 5, 8}, t[1].toInts());
  }

  @Test
  void emptyRangeIsRefused() {
    Output y = RandomUniformInt.of(s, Const.ints(s, 2), Const.of(s, 5), Const.of(s, 5), 1, 2);
    MillraceException e = assertThrows(MillraceException.class, () -> runs(y, 1));
    assertEquals("Need minval < maxval, got 5 >= 5", e.getMessage());
  }

  @Test
  void shufflesAreTensorFlows() {
    Output y = RandomShuffle.of(s, Const.ints(s, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9), 4, 9);
    Tensor[] t = runs(y, 3);
    assertArrayEquals(new int[] {9, 8, 5, 0, 6, 3, 7, 4, 1, 2}, t[0].toInts());
    assertArrayEquals(new int[] {6, 4, 5, 9, 7, 1, 2, 8, 0, 3}, t[1].toInts());
    assertArrayEquals(new int[] {9, 2, 3, 8, 6, 0, 1, 4, 7, 5}, t[2].toInts());
  }

  @Test
  void shufflingKeepsRowsWhole() {
    Tensor rows = Tensor.of(Shape.of(3, 2), 1, 10, 2, 20, 3, 30);
    int[] y = runs(RandomShuffle.of(s, Const.of(s, rows), 4, 9), 1)[0].toInts();
    for (int i = 0; i < 6; i += 2) {
      assertEquals(10 * y[i], y[i + 1]);
    }
  }

  @Test
  void classesAreDrawnAsTensorFlowDrawsThem() {
    Tensor logits =
        Tensor.of(Shape.of(2, 3), 0.0f, Float.NaN, Float.NEGATIVE_INFINITY, 1.0f, 1.0f, 1.0f);
    Tensor[] t = runs(Multinomial.of(s, Const.of(s, logits), 500, 4, 9), 1);
    long[] y = t[0].toLongs();
    assertTrue(Arrays.stream(y, 0, 500).allMatch(k -> k == 0), "only class 0 is possible");
    for (int k = 0; k < 3; k++) {
      int want = k;
      long n = Arrays.stream(y, 500, 1000).filter(v -> v == want).count();
      assertEquals(167, (double) n, 50);
    }
  }

  @Test
  void statelessNumbersAreTensorFlows() {
    stateless(
        StatelessRandom.UNIFORM,
        0.8440604209899902f,
        0.19204533100128174f,
        0.9962232112884521f,
        0.16038739681243896f,
        0.27199018001556396f,
        0.6493459939956665f,
        0.10694444179534912f);
    stateless(
        StatelessRandom.NORMAL,
        0.544110119342804f,
        0.20738030970096588f,
        0.0735643208026886f,
        0.04643455147743225f,
        -1.301589846611023f,
        -0.9538565278053284f,
        0.8417285680770874f);
    stateless(
        StatelessRandom.TRUNCATED_NORMAL,
        0.544110119342804f,
        0.20738030970096588f,
        0.0735643208026886f,
        0.04643455147743225f,
        0.16820591688156128f,
        -1.6850333213806152f,
        0.24202857911586761f);
  }

  private void stateless(Op op, float... expected) {
    Output seed = Const.of(s, Tensor.vector(1L, 2L));
    Output y = StatelessRandom.of(s, op, DType.FLOAT, Const.ints(s, 7), seed);
    Tensor[] t = runs(y, 2);
    assertArrayEquals(expected, t[0].toFloats(), CLOSE);
    assertArrayEquals(expected, t[1].toFloats(), CLOSE);
  }

  @Test
  void boundedNormalIsTensorFlowsAndStaysInItsBounds() {
    Tensor y = runs(bounded(-2, 2), 1)[0];
    float[] first = {0.17305909097194672f, 1.4186041355133057f, 0.029547467827796936f};
    assertArrayEquals(first, Arrays.copyOf(y.toFloats(), 3), CLOSE);
    for (float[] b :
        new float[][] {{3, 9}, {5, Float.POSITIVE_INFINITY}, {0.1f, 0.2f}, {-9, -4}, {-1, 3}}) {
      for (float v : runs(bounded(b[0], b[1]), 1)[0].toFloats()) {
        assertTrue(v >= b[0] && v <= b[1], v + " is outside " + Arrays.toString(b));
      }
    }
    MillraceException e = assertThrows(MillraceException.class, () -> runs(bounded(2, 1), 1));
    assertTrue(e.getMessage().contains("minval < maxval"), e.getMessage());
  }

  private Output bounded(float min, float max) {
    return s.node(ParameterizedTruncatedNormal.OP)
        .input(Const.ints(s, 2, 30))
        .input(Const.of(s, 0f))
        .input(Const.of(s, 1f))
        .input(Const.of(s, min))
        .input(Const.of(s, max))
        .attr("seed", 3)
        .attr("seed2", 8)
        .add()
        .output();
  }

  @Test
  void withoutSeedsTwoNodesDiffer() {
    Output a = RandomNumbers.of(s, RandomNumbers.UNIFORM, DType.FLOAT, Shape.of(8), 0, 0);
    Output b = RandomNumbers.of(s, RandomNumbers.UNIFORM, DType.FLOAT, Shape.of(8), 0, 0);
    assertFalse(Arrays.equals(runs(a, 1)[0].toFloats(), runs(b, 1)[0].toFloats()));
  }

  @Test
  void everyTypeIsFilled() {
    for (DType type : DType.FLOATING) {
      for (Op op :
          new Op[] {RandomNumbers.UNIFORM, RandomNumbers.NORMAL, RandomNumbers.TRUNCATED_NORMAL}) {
        Tensor y = runs(RandomNumbers.of(s, op, type, Shape.of(20_001), 1, 2), 1)[0];
        double sum = 0;
        double squares = 0;
        for (double v : y.toDoubles()) {
          sum += v;
          squares += v * v;
        }
        boolean uniform = op == RandomNumbers.UNIFORM;
        double mean = sum / y.elements();
        assertEquals(uniform ? 0.5 : 0, mean, 0.03, op.name() + " " + type);
        double variance = squares / y.elements() - mean * mean;
        // Cutting at two deviations leaves a variance of 0.774.
        double expected = uniform ? 1 / 12.0 : op == RandomNumbers.NORMAL ? 1 : 0.774;
        assertEquals(expected, variance, 0.03, op.name() + " " + type);
      }
    }
  }
}
