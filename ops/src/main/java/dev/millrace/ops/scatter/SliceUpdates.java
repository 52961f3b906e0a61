package dev.millrace.ops.scatter;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.ops.array.Coordinates;
import dev.millrace.ops.state.RowChange;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;

/** Changes the slices of a tensor that the rows of {@code indices} name, in order. */
final class SliceUpdates {
  private final Node node;
  private final RowChange change;
  private final boolean ignoresBad;

  /** For a node of inputs target, indices and updates, with elements of {@code type}. */
  SliceUpdates(Node node, RowChange change, DType type) {
    this.node = node;
    this.change = change;
    this.ignoresBad = node.hasAttr("bad_indices_policy") && Coordinates.ignoresBad(node);
    if (!change.supports(type) && !isLogical(type)) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          "%s '%s' is not implemented for elements of type %s."
              .formatted(node.op().name(), node.name(), type));
    }
  }

  /** Whether truths are added or subtracted; like C++, a result other than 0 is true. */
  private boolean isLogical(DType type) {
    return type == DType.BOOL && (change == RowChange.ADD || change == RowChange.SUB);
  }

  /** Refuses shapes that do not fit; unknown dimensions fit. */
  static void check(Node node, Shape target, Shape indices, Shape updates) {
    if (!target.hasRank() || !indices.hasRank() || !updates.hasRank()) {
      return;
    }
    boolean fits = target.rank() >= 1 && indices.rank() >= 1 && indices.dim(-1) <= target.rank();
    if (fits && indices.dim(-1) >= 0) {
      Shape slice = target.slice((int) indices.dim(-1), target.rank());
      fits = indices.slice(0, indices.rank() - 1).concat(slice).isCompatibleWith(updates);
    }
    if (!fits) {
      throw MillraceException.invalid(
          "%s '%s': updates of shape %s do not fit indices of shape %s into shape %s; need"
              + " updates.shape == indices.shape[:-1] + shape[indices.shape[-1]:].",
          node.op().name(), node.name(), updates, indices, target);
    }
  }

  /** Applies all updates to {@code target}, or none if a coordinate is outside. */
  void apply(Tensor target, Tensor indices, Tensor updates) {
    check(node, target.shape(), indices.shape(), updates.shape());
    Coordinates at = new Coordinates(indices, target.shape());
    for (long i = 0; !ignoresBad && i < at.count(); i++) {
      if (at.row(i) < 0) {
        throw at.outside(i, "output");
      }
    }
    long length = at.length();
    boolean logical = isLogical(target.dtype());
    for (long i = 0; i < at.count(); i++) {
      long row = at.row(i);
      if (row >= 0 && logical) {
        combineTruths(target, row * length, updates, i * length, length);
      } else if (row >= 0) {
        change.apply(target, row * length, updates, i * length, length);
      }
    }
  }

  private void combineTruths(Tensor target, long to, Tensor updates, long from, long n) {
    int sign = change == RowChange.ADD ? 1 : -1;
    for (long k = 0; k < n; k++) {
      target.setLong(to + k, target.longAt(to + k) + sign * updates.longAt(from + k));
    }
  }
}
