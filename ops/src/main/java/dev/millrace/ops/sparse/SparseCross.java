package dev.millrace.ops.sparse;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.text.StringHash;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * All combinations of the features that several columns have for an example, as joined strings or
 * as hashes of them. The columns that are sparse come before those that are dense.
 */
final class SparseCross {
  private static final byte[] SEPARATOR = "_X_".getBytes(StandardCharsets.UTF_8);
  private static final long MIX = 0xC6A4A7935BD1E995L;
  private static final String NO_GRADIENT = "strings and hashes are not differentiable";

  static final Op V1 =
      columns(
              Op.define("SparseCross")
                  .attr("N: int >= 0")
                  .attr("hashed_output: bool")
                  .attr("num_buckets: int >= 0")
                  .attr("hash_key: int")
                  .attr("sparse_types: list({int64, string}) >= 0")
                  .attr("dense_types: list({int64, string}) >= 0")
                  .attr("out_type: {int64, string}")
                  .attr("internal_type: {int64, string}"))
          .output("output_indices: int64")
          .output("output_values: out_type")
          .output("output_shape: int64")
          .shape(SparseCross::infer)
          .kernelPerNode(SparseCross::either)
          .noGradient(NO_GRADIENT)
          .build();

  static final Op V2 =
      columns(lists(Op.define("SparseCrossV2")))
          .input("sep: string")
          .output("output_indices: int64")
          .output("output_values: string")
          .output("output_shape: int64")
          .shape(SparseCross::infer)
          .kernelPerNode(
              node -> {
                int n = node.intAttr("N");
                return c -> {
                  Tensor separator = c.input(c.inputCount() - 1);
                  if (!separator.shape().isScalar()) {
                    throw MillraceException.invalid(
                        "Input separator should be a scalar. Received: %s", separator.shape());
                  }
                  join(c, read(c, n, 1), separator.bytesAt(0));
                };
              })
          .noGradient(NO_GRADIENT)
          .build();

  static final Op HASHED =
      columns(lists(Op.define("SparseCrossHashed")))
          .input("num_buckets: int64")
          .input("strong_hash: bool")
          .input("salt: int64")
          .output("output_indices: int64")
          .output("output_values: int64")
          .output("output_shape: int64")
          .shape(SparseCross::infer)
          .kernelPerNode(SparseCross::hashed)
          .noGradient(NO_GRADIENT)
          .build();

  static final List<Op> ALL = List.of(V1, V2, HASHED);

  private SparseCross() {}

  private static Op.Builder lists(Op.Builder op) {
    return op.attr("N: int >= 0")
        .attr("sparse_types: list({int64, string}) >= 0")
        .attr("dense_types: list({int64, string}) >= 0");
  }

  private static Op.Builder columns(Op.Builder op) {
    return op.input("indices: N * int64")
        .input("values: sparse_types")
        .input("shapes: N * int64")
        .input("dense_inputs: dense_types");
  }

  private static List<Shape> infer(ShapeContext c) {
    return List.of(Shape.of(Shape.UNKNOWN, 2), Shape.of(Shape.UNKNOWN), Shape.of(2));
  }

  /** The features of one column: those of row {@code r} begin at {@code starts[r]}. */
  private record Column(Tensor values, long[] starts) {
    int count(int row) {
      return (int) (starts[row + 1] - starts[row]);
    }

    /** A number as it is, or the hash of a string. */
    long number(long i, ToLongFunction<byte[]> hash) {
      return values.dtype() == DType.STRING
          ? hash.applyAsLong(values.bytesAt(i))
          : values.longAt(i);
    }

    /** The same, but of a number in a sparse column the hash of its lower half, as TensorFlow. */
    long hash(long i, ToLongFunction<byte[]> hash) {
      if (values.dtype() == DType.STRING || values.shape().rank() == 2) {
        return number(i, hash);
      }
      ByteBuffer half = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);
      return hash.applyAsLong(half.putInt((int) values.longAt(i)).array());
    }

    byte[] text(long i) {
      return values.dtype() == DType.STRING
          ? values.bytesAt(i)
          : Long.toString(values.longAt(i)).getBytes(StandardCharsets.UTF_8);
    }
  }

  /** What becomes of one combination: the place of the chosen feature in each column. */
  private interface Crosser {
    void cross(List<Column> columns, long[] places, Tensor out, long i);
  }

  /** The columns: {@code n} sparse ones, then the dense ones up to the {@code others} inputs. */
  private static List<Column> read(KernelContext c, int n, int others) {
    List<Column> columns = new ArrayList<>();
    long rows = -1;
    for (int i = 0; i < n; i++) {
      Tensor indices = c.input(i);
      Tensor values = c.input(n + i);
      Tensor dims = c.input(2 * n + i);
      if (dims.shape().rank() != 1 || dims.elements() != 2) {
        throw MillraceException.invalid(
            "shapes should imply a 2D tensor, but got shape %s", dims.shape());
      }
      Coo column = Coo.of(indices, values, dims);
      rows = sameRows(rows, column.shape().dim(0));
      long[] starts = new long[Math.toIntExact(rows) + 1];
      for (long k = 0; k < column.count(); k++) {
        long row = column.at(k, 0);
        if (row < 0 || row >= rows) {
          throw MillraceException.invalid(
              "Invalid batch index %d in column %d: there are %d rows", row, i, rows);
        }
        starts[(int) row + 1]++;
      }
      for (int r = 0; r < rows; r++) {
        starts[r + 1] += starts[r];
      }
      columns.add(new Column(values, starts));
    }
    for (int i = 3 * n; i < c.inputCount() - others; i++) {
      Tensor dense = c.input(i);
      Coo.requireRank("dense_inputs", "a matrix", dense, 2);
      rows = sameRows(rows, dense.shape().dim(0));
      long[] starts = new long[Math.toIntExact(rows) + 1];
      for (int r = 0; r < rows; r++) {
        starts[r + 1] = starts[r] + dense.shape().dim(1);
      }
      columns.add(new Column(dense, starts));
    }
    return columns;
  }

  private static long sameRows(long rows, long found) {
    if (rows >= 0 && rows != found) {
      throw MillraceException.invalid("Expected batch size %d, got %d", rows, found);
    }
    return found;
  }

  private static Kernel either(Node node) {
    int n = node.intAttr("N");
    if (!node.booleanAttr("hashed_output")) {
      return c -> join(c, read(c, n, 0), SEPARATOR);
    }
    long key = node.longAttr("hash_key");
    long buckets = node.longAttr("num_buckets");
    return c ->
        cross(
            c,
            read(c, n, 0),
            (columns, places, out, i) -> {
              long hash = key;
              for (int k = 0; k < places.length; k++) {
                hash = combined(hash, columns.get(k).number(places[k], StringHash::farm));
              }
              out.setLong(i, bucket(hash, buckets));
            });
  }

  private static Kernel hashed(Node node) {
    int n = node.intAttr("N");
    return c -> {
      int last = c.inputCount();
      Tensor buckets = c.input(last - 3);
      Tensor strong = c.input(last - 2);
      Tensor salt = c.input(last - 1);
      if (!buckets.shape().isScalar() || !strong.shape().isScalar()) {
        throw MillraceException.invalid(
            "Input num_buckets and strong_hash should be scalars. Received: %s and %s",
            buckets.shape(), strong.shape());
      }
      if (salt.shape().rank() != 1 || salt.elements() != 2) {
        throw MillraceException.invalid(
            "Input salt should be a vector of 2 elements. Received: %s", salt.shape());
      }
      ToLongFunction<byte[]> hash =
          strong.booleanAt(0)
              ? s -> StringHash.sip(salt.longAt(0), salt.longAt(1), s)
              : StringHash::farm;
      cross(
          c,
          read(c, n, 3),
          (columns, places, out, i) -> {
            long all = columns.getFirst().hash(places[0], hash);
            for (int k = 1; k < places.length; k++) {
              all = combined(all, columns.get(k).hash(places[k], hash));
            }
            out.setLong(i, bucket(all, buckets.longAt(0)));
          });
    };
  }

  /** Without buckets all numbers that are not negative. */
  private static long bucket(long hash, long buckets) {
    return Long.remainderUnsigned(hash, buckets > 0 ? buckets : Long.MAX_VALUE);
  }

  /** One hash of two, as TensorFlow combines them. */
  private static long combined(long a, long b) {
    long h = (a ^ MIX ^ mixed(b * MIX) * MIX) * MIX;
    return mixed(mixed(h) * MIX);
  }

  private static long mixed(long v) {
    return v ^ (v >>> 47);
  }

  private static void join(KernelContext c, List<Column> all, byte[] separator) {
    cross(
        c,
        all,
        (columns, places, out, i) -> {
          ByteArrayOutputStream text = new ByteArrayOutputStream();
          for (int k = 0; k < places.length; k++) {
            if (k > 0) {
              text.writeBytes(separator);
            }
            text.writeBytes(columns.get(k).text(places[k]));
          }
          out.objects()[(int) i] = text.toByteArray();
        });
  }

  /** Row by row, the last column changing fastest. */
  private static void cross(KernelContext c, List<Column> columns, Crosser crosser) {
    int rows = columns.isEmpty() ? 0 : columns.getFirst().starts().length - 1;
    long total = 0;
    long most = 0;
    for (int r = 0; r < rows; r++) {
      long n = combinations(columns, r);
      total += n;
      most = Math.max(most, n);
    }
    if (total > Integer.MAX_VALUE) {
      throw MillraceException.invalid("There are too many combinations: %d", total);
    }
    Tensor indices = c.allocate(0, Shape.of(total, 2));
    Tensor values = c.allocate(1, Shape.of(total));
    Coo.putShape(c, 2, Shape.of(rows, most));
    long[] places = new long[columns.size()];
    long to = 0;
    for (int r = 0; r < rows; r++) {
      long n = combinations(columns, r);
      for (long i = 0; i < n; i++, to++) {
        long rest = i;
        for (int k = places.length - 1; k >= 0; k--) {
          int count = columns.get(k).count(r);
          places[k] = columns.get(k).starts()[r] + rest % count;
          rest /= count;
        }
        indices.setLong(2 * to, r);
        indices.setLong(2 * to + 1, i);
        crosser.cross(columns, places, values, to);
      }
    }
  }

  private static long combinations(List<Column> columns, int row) {
    long n = 1;
    for (Column column : columns) {
      n = Math.min(n * column.count(row), Integer.MAX_VALUE + 1L);
    }
    return n;
  }
}
