package dev.millrace.storage.checkpoint;

import com.google.protobuf.ByteString;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.TensorSliceProto;
import dev.millrace.storage.table.OrderedCode;
import dev.millrace.tensor.Shape;
import java.util.Arrays;

/**
 * A rectangular part of a tensor: in every dimension a start and a length, or the whole dimension.
 * A whole dimension can be marked as whole or given by its length. As in TensorFlow these are
 * different slices with different keys.
 */
public final class TensorSlice {
  /** The length that marks a whole dimension. */
  static final long WHOLE = -1;

  private final long[] starts;
  private final long[] lengths;

  private TensorSlice(long[] starts, long[] lengths) {
    this.starts = starts;
    this.lengths = lengths;
  }

  /** The slice of {@code lengths[i]} elements from {@code starts[i]} on in every dimension. */
  public static TensorSlice of(long[] starts, long[] lengths) {
    if (starts.length != lengths.length) {
      throw new IllegalArgumentException(starts.length + " starts, " + lengths.length + " lengths");
    }
    for (int i = 0; i < starts.length; i++) {
      if (starts[i] < 0 || lengths[i] < 1) {
        throw MillraceException.invalid(
            "A slice starts at %d with length %d in dimension %d; it must start at 0 or more and"
                + " have a length of at least 1.",
            starts[i], lengths[i], i);
      }
    }
    return new TensorSlice(starts.clone(), lengths.clone());
  }

  /** All of a tensor of this rank. */
  public static TensorSlice whole(int rank) {
    long[] lengths = new long[rank];
    Arrays.fill(lengths, WHOLE);
    return new TensorSlice(new long[rank], lengths);
  }

  /** Reads TensorFlow's form: {@code 0,150:-} is the first 150 rows, all columns. */
  public static TensorSlice parse(String text) {
    String[] dims = text.isEmpty() ? new String[0] : text.split(":", -1);
    TensorSlice slice = whole(dims.length);
    for (int i = 0; i < dims.length; i++) {
      if (dims[i].equals("-")) {
        continue;
      }
      int comma = dims[i].indexOf(',');
      try {
        slice.starts[i] = Long.parseLong(dims[i].substring(0, Math.max(comma, 0)));
        slice.lengths[i] = Long.parseLong(dims[i].substring(comma + 1));
      } catch (NumberFormatException e) {
        throw malformed(text, dims[i]);
      }
      if (slice.starts[i] < 0 || slice.lengths[i] < 1) {
        throw malformed(text, dims[i]);
      }
    }
    return slice;
  }

  private static MillraceException malformed(String text, String dim) {
    return MillraceException.invalid(
        "Slice '%s': '%s' is neither '-' nor START,LENGTH with START at least 0 and LENGTH at least"
            + " 1.",
        text, dim);
  }

  static TensorSlice of(TensorSliceProto proto) {
    TensorSlice slice = whole(proto.getExtentCount());
    for (int i = 0; i < slice.rank(); i++) {
      TensorSliceProto.Extent extent = proto.getExtent(i);
      if (extent.hasLength()) {
        slice.starts[i] = extent.getStart();
        slice.lengths[i] = extent.getLength();
      }
    }
    return slice;
  }

  TensorSliceProto toProto() {
    TensorSliceProto.Builder proto = TensorSliceProto.newBuilder();
    for (int i = 0; i < rank(); i++) {
      TensorSliceProto.Extent.Builder extent = proto.addExtentBuilder();
      if (lengths[i] != WHOLE) {
        extent.setStart(starts[i]).setLength(lengths[i]);
      }
    }
    return proto.build();
  }

  /** The key of this slice of tensor {@code name} in a checkpoint. */
  public ByteString keyOf(String name) {
    OrderedCode key =
        new OrderedCode().number(0).string(ByteString.copyFromUtf8(name)).number(rank());
    for (int i = 0; i < rank(); i++) {
      key.signed(starts[i]).signed(lengths[i]);
    }
    return key.toKey();
  }

  /** Number of dimensions. */
  public int rank() {
    return starts.length;
  }

  /** The start in a dimension. */
  public long start(int dim) {
    return starts[dim];
  }

  long length(int dim) {
    return lengths[dim];
  }

  /** Whether this slice lies in a tensor of shape {@code full}. */
  boolean fits(Shape full) {
    if (rank() != full.rank()) {
      return false;
    }
    for (int i = 0; i < rank(); i++) {
      long size = full.dim(i);
      boolean inside =
          lengths[i] == WHOLE
              || (starts[i] >= 0
                  && lengths[i] >= 0
                  && starts[i] <= size
                  && lengths[i] <= size - starts[i]);
      if (!inside) {
        return false;
      }
    }
    return true;
  }

  /** The same slice of a tensor of shape {@code full} with explicit lengths. It must fit. */
  TensorSlice within(Shape full) {
    if (!fits(full)) {
      throw MillraceException.invalid(
          "Slice '%s' does not lie in a tensor of shape %s.", this, full);
    }
    long[] resolved = lengths.clone();
    for (int i = 0; i < resolved.length; i++) {
      resolved[i] = resolved[i] == WHOLE ? full.dim(i) : resolved[i];
    }
    return new TensorSlice(starts, resolved);
  }

  /** The shape of this slice of a tensor of shape {@code full}. */
  public Shape shapeIn(Shape full) {
    return Shape.of(within(full).lengths);
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof TensorSlice s
        && Arrays.equals(starts, s.starts)
        && Arrays.equals(lengths, s.lengths);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(starts) + Arrays.hashCode(lengths);
  }

  /** TensorFlow's form: {@code 0,150:-}. */
  @Override
  public String toString() {
    StringBuilder s = new StringBuilder();
    for (int i = 0; i < rank(); i++) {
      s.append(i == 0 ? "" : ":");
      if (lengths[i] == WHOLE) {
        s.append('-');
      } else {
        s.append(starts[i]).append(',').append(lengths[i]);
      }
    }
    return s.toString();
  }
}
