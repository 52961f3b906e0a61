package dev.millrace.ops.array;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Scope;
import dev.millrace.graph.op.Gradient;
import dev.millrace.graph.op.KernelContext;
import dev.millrace.graph.op.Op;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The distinct elements of a vector in order of appearance, and for each element which it is. */
public final class Unique {
  public static final Op OP =
      Op.define("Unique")
          .attr("T: type")
          .attr("out_idx: {int32, int64} = int32")
          .input("x: T")
          .output("y: T")
          .output("idx: out_idx")
          .shape(c -> List.of(Shape.of(Shape.UNKNOWN), c.inputOfRank(0, 1)))
          .kernelPerNode(
              node -> {
                check(node);
                return c -> compute(c, false);
              })
          .gradient(Gradient.undefined("TensorFlow defines none"))
          .build();

  /** Also how often each occurs. */
  public static final Op WITH_COUNTS =
      Op.define("UniqueWithCounts")
          .attr("T: type")
          .attr("out_idx: {int32, int64} = int32")
          .input("x: T")
          .output("y: T")
          .output("idx: out_idx")
          .output("count: out_idx")
          .shape(
              c -> List.of(Shape.of(Shape.UNKNOWN), c.inputOfRank(0, 1), Shape.of(Shape.UNKNOWN)))
          .kernelPerNode(
              node -> {
                check(node);
                return c -> compute(c, true);
              })
          .gradient(Gradient.undefined("TensorFlow defines none"))
          .build();

  private Unique() {}

  /** Output 0 holds the distinct elements of {@code x}, output 1 which of them each one is. */
  public static Node of(Scope scope, dev.millrace.graph.Output x) {
    return scope.add(OP, x);
  }

  static void check(Node node) {
    DType type = node.input(0).dtype();
    boolean known =
        type.isFloating() || type.isIntegral() || type == DType.BOOL || type == DType.STRING;
    if (!known) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          node.op().name() + " '" + node.name() + "' cannot compare " + type + " here.");
    }
  }

  private static void compute(KernelContext c, boolean counts) {
    Tensor x = c.input(0);
    if (x.shape().rank() != 1) {
      throw MillraceException.invalid("unique expects a 1D vector; the input is %s.", x.shape());
    }
    long n = x.elements();
    Tensor idx = c.allocate(1, x.shape());
    Map<Object, Integer> seen = HashMap.newHashMap((int) Math.min(n, 1 << 20));
    List<Long> first = new ArrayList<>();
    List<Long> count = new ArrayList<>();
    for (long i = 0; i < n; i++) {
      int next = first.size();
      Integer k = seen.putIfAbsent(key(x, i), next);
      if (k == null) {
        first.add(i);
        count.add(0L);
        k = next;
      }
      count.set(k, count.get(k) + 1);
      idx.setLong(i, k);
    }
    Tensor y = c.allocate(0, Shape.of(first.size()));
    for (int k = 0; k < first.size(); k++) {
      StridedCopy.copyRun(x, first.get(k), y, k, 1);
    }
    if (counts) {
      Tensor out = c.allocate(2, y.shape());
      for (int k = 0; k < first.size(); k++) {
        out.setLong(k, count.get(k));
      }
    }
  }

  /** Something equal for equal elements only: zeros of both signs are, a NaN is like no other. */
  static Object key(Tensor x, long i) {
    if (x.dtype() == DType.STRING) {
      return ByteBuffer.wrap(x.bytesAt(i));
    }
    if (!x.dtype().isFloating()) {
      return x.longAt(i);
    }
    double v = x.doubleAt(i);
    return Double.isNaN(v) ? new Object() : (Object) (v + 0.0);
  }
}
