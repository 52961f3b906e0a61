package dev.millrace.ops.random;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.random.Philox;
import java.util.List;

/** The generator of stateless random numbers as tensors: what it is, its key and its counter. */
final class StatelessKeys {
  /** TensorFlow's number of Philox among the generators. */
  private static final int PHILOX = 1;

  /** Whichever the device has; here that is Philox. */
  private static final int ANY = 3;

  static final String WHY = "random numbers depend on nothing but the seed";

  static final Op ALGORITHM =
      Op.define("StatelessRandomGetAlg")
          .output("alg: int32")
          .stateful()
          .shape(Shapes.scalar())
          .kernel(c -> c.allocate(0, Shape.scalar()).setLong(0, PHILOX))
          .noGradient(WHY)
          .build();

  static final List<Op> ALL =
      List.of(
          ALGORITHM,
          define("StatelessRandomGetKeyCounter", false),
          define("StatelessRandomGetKeyCounterAlg", true));

  private StatelessKeys() {}

  private static Op define(String name, boolean withAlgorithm) {
    Op.Builder op =
        Op.define(name)
            .attr("Tseed: {int32, int64} = int64")
            .input("seed: Tseed")
            .output("key: uint64")
            .output("counter: uint64");
    if (withAlgorithm) {
      op.output("alg: int32");
    }
    return op.shape(
            c -> {
              c.inputOfRank(0, 1).mergeWith(Shape.of(2));
              List<Shape> two = List.of(Shape.of(1), Shape.of(2));
              return withAlgorithm ? List.of(two.get(0), two.get(1), Shape.scalar()) : two;
            })
        .kernel(
            c -> {
              Philox p = ofSeed(c.input(0));
              c.allocate(0, Shape.of(1)).setLong(0, p.key());
              Tensor counter = c.allocate(1, Shape.of(2));
              counter.setLong(0, p.low());
              counter.setLong(1, p.high());
              if (withAlgorithm) {
                c.allocate(2, Shape.scalar()).setLong(0, PHILOX);
              }
            })
        .noGradient(WHY)
        .build();
  }

  /** The sequence of a seed of two integers. */
  static Philox ofSeed(Tensor seed) {
    if (!DType.INDEX.contains(seed.dtype())) {
      throw MillraceException.invalid("Invalid seed type: %s", seed.dtype());
    }
    if (!seed.shape().equals(Shape.of(2))) {
      throw MillraceException.invalid("seed must have shape [2], not %s", seed.shape());
    }
    return Philox.ofMixedSeeds(seed.longAt(0), seed.longAt(1));
  }

  /** The sequence of the key, counter and algorithm that inputs 1, 2 and 3 are. */
  static Philox ofKey(KernelContext c) {
    Tensor key = c.input(1);
    Tensor counter = c.input(2);
    Tensor algorithm = c.input(3);
    if (!algorithm.shape().isScalar() || algorithm.dtype() != DType.INT32) {
      throw MillraceException.invalid("algorithm must be of shape [], not %s", algorithm.shape());
    }
    long id = algorithm.longAt(0);
    if (id != PHILOX && id != ANY) {
      throw MillraceException.invalid("Unsupported algorithm id: %d", id);
    }
    if (!key.shape().equals(Shape.of(1))) {
      throw MillraceException.invalid("key must have shape [1], not %s", key.shape());
    }
    if (counter.shape().rank() != 1 || counter.elements() < 2) {
      throw MillraceException.invalid(
          "counter must be a vector with length at least 2; got shape %s", counter.shape());
    }
    return new Philox(key.longAt(0), counter.longAt(0), counter.longAt(1));
  }
}
