package dev.millrace.ops.array;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Rows;
import java.util.Arrays;
import java.util.List;

/**
 * Zeros of a shape, with updates added at coordinates; the same place may be named often. Strings
 * are added one behind the other.
 */
public final class ScatterNd {
  public static final Op OP =
      Op.define("ScatterNd")
          .attr("T: type")
          .attr("Tindices: {int16, int32, int64}")
          .attr("bad_indices_policy: string = ''")
          .input("indices: Tindices")
          .input("updates: T")
          .input("shape: Tindices")
          .output("output: T")
          .shape(c -> List.of(c.constantAsShape(2)))
          .kernelPerNode(ScatterNd::kernel)
          .gradient(g -> g.dx(1, GatherNd.of(g.scope(), g.dy(), g.input(0))))
          .build();

  private ScatterNd() {}

  /**
   * Zeros of {@code shape} with {@code updates} added at the coordinates in the rows of {@code
   * indices}.
   */
  public static Output of(Scope scope, Output indices, Output updates, Output shape) {
    return scope.add(OP, indices, updates, shape).output();
  }

  private static Kernel kernel(Node node) {
    boolean ignore = Coordinates.ignoresBad(node);
    DType type = node.output(0).dtype();
    boolean adds = DType.NUMERIC.contains(type);
    if (!adds && type != DType.BOOL && type != DType.STRING) {
      throw new MillraceException(
          Code.UNIMPLEMENTED, "ScatterNd '" + node.name() + "' cannot add " + type + " here.");
    }
    return c -> {
      Tensor indices = c.input(0);
      Tensor updates = c.input(1);
      Shape s = Axis.shape(c.input(2));
      check(indices.shape(), updates.shape(), s);
      Tensor out = c.allocate(0, s);
      ZerosLike.clear(out);
      Coordinates at = new Coordinates(indices, s);
      Tensor rows = Refs.allocate(DType.INT64, Shape.of(at.count()));
      try {
        for (long i = 0; i < at.count(); i++) {
          rows.setLong(i, at.row(i));
          if (!ignore && rows.longAt(i) < 0) {
            throw at.outside(i, "output");
          }
        }
        if (adds) {
          Rows.add(out, rows, updates, at.length());
        } else {
          addSingly(out, rows, updates, at.length());
        }
      } finally {
        Refs.release(rows);
      }
    };
  }

  /** Adds strings or truths. */
  private static void addSingly(Tensor out, Tensor rows, Tensor updates, long length) {
    for (long i = 0; i < updates.elements(); i++) {
      long row = rows.longAt(i / length);
      long at = row * length + i % length;
      if (row >= 0 && out.dtype() == DType.STRING) {
        out.objects()[Math.toIntExact(at)] = joined(out.bytesAt(at), updates.bytesAt(i));
      } else if (row >= 0 && updates.longAt(i) != 0) {
        out.setLong(at, 1);
      }
    }
  }

  private static byte[] joined(byte[] first, byte[] second) {
    byte[] both = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    return both;
  }

  private static void check(Shape indices, Shape updates, Shape shape) {
    boolean fits = indices.rank() >= 1 && indices.dim(-1) <= shape.rank();
    if (fits) {
      int depth = (int) indices.dim(-1);
      Shape wanted = indices.slice(0, indices.rank() - 1).concat(shape.slice(depth, shape.rank()));
      fits = wanted.equals(updates);
    }
    if (!fits) {
      throw MillraceException.invalid(
          "updates of shape %s do not fit indices of shape %s into shape %s; need updates.shape =="
              + " indices.shape[:-1] + shape[indices.shape[-1]:].",
          updates, indices, shape);
    }
  }
}
