package dev.millrace.tensor.math;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.random.RandomGenerator;

/** Random contents for tests. */
public final class Matrices {
  private Matrices() {}

  /** A tensor of numbers between -1 and 1, or of small integers where the type has no fractions. */
  public static Tensor random(DType type, RandomGenerator random, long... shape) {
    Tensor t = Tensor.allocate(type, Shape.of(shape));
    for (long i = 0; i < t.elements(); i++) {
      if (type.isFloating()) {
        t.setDouble(i, random.nextDouble() * 2 - 1);
      } else {
        t.setLong(i, random.nextInt(-1000, 1000));
      }
    }
    return t;
  }
}
