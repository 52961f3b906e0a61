package dev.millrace.serving.batch;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/** Joins tensors along their first dimension, and cuts them there. */
final class JoinedRows {
  private JoinedRows() {}

  /** The size of the first dimension of all inputs; -1 if they do not share one. */
  static long rows(Tensor[] inputs) {
    long rows = -1;
    for (Tensor t : inputs) {
      if (t == null || t.isClosed() || t.shape().rank() == 0) {
        return -1; // The call itself says what is wrong.
      }
      long n = t.shape().dim(0);
      if (rows >= 0 && n != rows) {
        return -1;
      }
      rows = n;
    }
    return rows;
  }

  /** Whether two calls can be joined: all but the number of rows is the same. */
  static boolean fit(Tensor[] a, Tensor[] b) {
    if (a.length != b.length) {
      return false;
    }
    for (int i = 0; i < a.length; i++) {
      if (a[i].isClosed()
          || b[i].isClosed()
          || a[i].dtype() != b[i].dtype()
          || !row(a[i]).equals(row(b[i]))) {
        return false;
      }
    }
    return true;
  }

  private static Shape row(Tensor t) {
    return t.shape().slice(1, t.shape().rank());
  }

  /** For each input the rows of all calls, one after the other. */
  static Tensor[] joined(List<Tensor[]> calls) {
    Tensor[] all = new Tensor[calls.getFirst().length];
    for (int i = 0; i < all.length; i++) {
      Tensor first = calls.getFirst()[i];
      long rows = 0;
      for (Tensor[] call : calls) {
        rows += call[i].shape().dim(0);
      }
      all[i] = Tensor.allocate(first.dtype(), Shape.of(rows).concat(row(first)));
      long at = 0;
      for (Tensor[] call : calls) {
        at += copy(call[i], 0, all[i], at, call[i].elements());
      }
    }
    return all;
  }

  /** The outputs of each call; null if an output has another number of rows. */
  static List<Tensor[]> parts(Tensor[] outputs, long[] rows) {
    long sum = 0;
    for (long r : rows) {
      sum += r;
    }
    for (Tensor o : outputs) {
      if (o.shape().rank() == 0 || o.shape().dim(0) != sum) {
        return null;
      }
    }
    List<Tensor[]> parts = new ArrayList<>();
    long at = 0;
    for (long r : rows) {
      Tensor[] part = new Tensor[outputs.length];
      for (int i = 0; i < part.length; i++) {
        Shape row = row(outputs[i]);
        part[i] = Tensor.allocate(outputs[i].dtype(), Shape.of(r).concat(row));
        copy(outputs[i], at * row.elements(), part[i], 0, r * row.elements());
      }
      parts.add(part);
      at += r;
    }
    return parts;
  }

  private static long copy(Tensor from, long start, Tensor to, long toStart, long count) {
    DType t = from.dtype();
    if (t.isPlain()) {
      Refs.copyBytes(from, start * t.bytes(), to, toStart * t.bytes(), count * t.bytes());
    } else {
      Refs.copyObjects(from.objects(), start, 1, to.objects(), toStart, 1, count);
    }
    return count;
  }
}
