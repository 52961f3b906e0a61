package dev.millrace.ops.random;

import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import dev.millrace.tensor.math.random.Philox;

/** The rows of a tensor in random order. */
public final class RandomShuffle {
  public static final Op OP =
      Op.define("RandomShuffle")
          .attr("seed: int = 0")
          .attr("seed2: int = 0")
          .attr("T: type")
          .input("value: T")
          .output("output: T")
          .stateful()
          .shape(Shapes.like(0))
          .kernelPerNode(RandomShuffle::kernel)
          .noGradient("TensorFlow defines none")
          .build();

  private RandomShuffle() {}

  /** The rows of {@code value} in a random order. */
  public static Output of(Scope scope, Output value, long seed, long seed2) {
    return scope.node(OP).input(value).attr("seed", seed).attr("seed2", seed2).add().output();
  }

  private static Kernel kernel(Node node) {
    SeededState state = new SeededState(node);
    return c -> {
      Tensor x = c.input(0);
      long rows = x.shape().rank() == 0 ? 1 : x.shape().dim(0);
      if (x.elements() <= 1 || rows <= 1) {
        c.output(0, Refs.retain(x));
        return;
      }
      long[] order = order(rows, state.take((rows - 1 + 3) / 4).cursor());
      Tensor y = c.allocate(0, x.shape());
      long length = x.elements() / rows;
      for (int i = 0; i < order.length; i++) {
        StridedCopy.copyRun(x, order[i] * length, y, i * length, length);
      }
    };
  }

  /** Fisher-Yates, from the front. */
  private static long[] order(long n, Philox.Cursor random) {
    long[] order = new long[Math.toIntExact(n)];
    for (int i = 0; i < order.length; i++) {
      order[i] = i;
    }
    for (int i = 0; i < order.length - 1; i++) {
      int k = i + Integer.remainderUnsigned(random.nextInt(), order.length - i);
      long v = order[i];
      order[i] = order[k];
      order[k] = v;
    }
    return order;
  }
}
