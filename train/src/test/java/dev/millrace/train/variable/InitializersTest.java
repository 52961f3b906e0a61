package dev.millrace.train.variable;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import org.junit.jupiter.api.Test;

class InitializersTest {
  /** A convolution: 5 x 5 x 8 inputs for an output, 5 x 5 x 24 outputs for an input. */
  private static final Shape FILTER = Shape.of(5, 5, 8, 24);

  private static final double IN = 200;
  private static final double OUT = 600;

  private static float[] values(Initializer initializer, Shape shape) {
    Graph graph = new Graph(StandardOps.registry());
    graph.setSeed(7);
    Output value = initializer.of(Scope.of(graph), DType.FLOAT, shape);
    try (Session s = new LocalSession(graph)) {
      return s.fetch(value).toFloats();
    }
  }

  /** Checks mean and variance of values around 0, and that none is beyond {@code limit}. */
  private static void check(Initializer initializer, double variance, double limit) {
    float[] values = values(initializer, FILTER);
    double sum = 0;
    double squares = 0;
    for (float v : values) {
      sum += v;
      squares += (double) v * v;
      assertTrue(Math.abs(v) <= limit, v + " is beyond " + limit);
    }
    assertEquals(0, sum / values.length, .05 * Math.sqrt(variance));
    assertEquals(1, squares / values.length / variance, .1);
  }

  @Test
  void widthsFollowFromTheNumberOfInputsAndOutputs() {
    double glorot = 2 / (IN + OUT);
    double he = 2 / IN;
    check(Initializers.glorotUniform(), glorot, Math.sqrt(3 * glorot));
    check(Initializers.heUniform(), he, Math.sqrt(3 * he));
    // Cut at two deviations of the distribution that was cut, which is wider.
    check(Initializers.glorotNormal(), glorot, 2.3 * Math.sqrt(glorot));
    check(Initializers.heNormal(), he, 2.3 * Math.sqrt(he));
  }

  @Test
  void distributionsAreAsWideAsAsked() {
    check(Initializers.randomUniform(-.5, .5), 1 / 12., .5);
    check(Initializers.randomNormal(0, 2), 4, Double.MAX_VALUE);
    check(Initializers.truncatedNormal(0, 2), 4 * .7737, 4);
  }

  @Test
  void seedsMakeTheValues() {
    Shape shape = Shape.of(10);
    float[] one = values(Initializers.randomNormal(0, 1, 3), shape);
    assertArrayEquals(one, values(Initializers.randomNormal(0, 1, 3), shape));
    assertTrue(one[0] != values(Initializers.randomNormal(0, 1, 4), shape)[0]);
  }

  @Test
  void repeatedValuesAreTheSameInAnySize() {
    for (int n : new int[] {1, 999, 1000, 5000}) {
      float[] values = values(Initializers.constant(2.5), Shape.of(n));
      assertEquals(n, values.length);
      assertEquals(2.5f, values[n - 1]);
    }
    assertEquals(1, values(Initializers.ones(), Shape.scalar())[0]);
    assertThrows(MillraceException.class, () -> values(Initializers.zeros(), Shape.of(-1, 2)));
  }
}
