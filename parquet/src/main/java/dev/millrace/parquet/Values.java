package dev.millrace.parquet;

import dev.millrace.base.MillraceException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.format.Type;

/**
 * The values of a page or of a dictionary, those that are not null, in an array of their physical
 * type. Booleans are 0 and 1.
 *
 * @param ints of INT32 and BOOLEAN, else null; the others likewise
 */
record Values(int[] ints, long[] longs, float[] floats, double[] doubles, byte[][] bytes) {
  private static final VarHandle INT = view(int[].class);
  private static final VarHandle LONG = view(long[].class);
  private static final VarHandle FLOAT = view(float[].class);
  private static final VarHandle DOUBLE = view(double[].class);

  private static VarHandle view(Class<?> type) {
    return MethodHandles.byteArrayViewVarHandle(type, ByteOrder.LITTLE_ENDIAN);
  }

  private static Values allocate(Type type, int n) {
    return switch (type) {
      case BOOLEAN, INT32 -> new Values(new int[n], null, null, null, null);
      case INT64 -> new Values(null, new long[n], null, null, null);
      case FLOAT -> new Values(null, null, new float[n], null, null);
      case DOUBLE -> new Values(null, null, null, new double[n], null);
      default -> new Values(null, null, null, null, new byte[n][]);
    };
  }

  /** Decodes {@code n} values. */
  static Values read(BitReader in, Encoding encoding, Leaf leaf, Values dictionary, int n) {
    Type type = leaf.type();
    return switch (encoding) {
      case PLAIN -> plain(in, leaf, n);
      case PLAIN_DICTIONARY, RLE_DICTIONARY -> {
        if (dictionary == null) {
          throw new IndexOutOfBoundsException("no dictionary");
        }
        int[] ids = new int[n];
        if (n > 0) {
          RunLengths.read(in, in.next(), ids, n);
        }
        yield dictionary.pick(type, ids);
      }
      case RLE -> {
        in.take(Integer.BYTES);
        Values values = allocate(type, n);
        RunLengths.read(in, 1, values.ints, n);
        yield values;
      }
      case DELTA_BINARY_PACKED -> {
        long[] values = Deltas.read(in, n);
        yield type == Type.INT64
            ? new Values(null, values, null, null, null)
            : new Values(
                Arrays.stream(values).mapToInt(v -> (int) v).toArray(), null, null, null, null);
      }
      case DELTA_LENGTH_BYTE_ARRAY -> {
        Values values = allocate(type, n);
        strings(in, n, values.bytes);
        yield values;
      }
      case DELTA_BYTE_ARRAY -> {
        long[] shared = Deltas.read(in, n);
        Values values = allocate(type, n);
        strings(in, n, values.bytes);
        for (int i = 0; i < n; i++) {
          int prefix = Math.toIntExact(shared[i]);
          if (prefix > 0) {
            byte[] rest = values.bytes[i];
            byte[] before = values.bytes[i - 1];
            byte[] whole = new byte[Math.addExact(prefix, rest.length)];
            System.arraycopy(before, 0, whole, 0, prefix);
            System.arraycopy(rest, 0, whole, prefix, rest.length);
            values.bytes[i] = whole;
          }
        }
        yield values;
      }
      case BYTE_STREAM_SPLIT -> plain(joined(in, leaf, n), leaf, n);
      default ->
          throw MillraceException.invalid(
              ": its values are encoded as %s, which is not read. Write the file with another"
                  + " encoding.",
              encoding);
    };
  }

  /** The bytes of each value side by side again. */
  private static BitReader joined(BitReader in, Leaf leaf, int n) {
    int width = leaf.bytes();
    int from = in.take((long) n * width);
    byte[] all = new byte[n * width + BitReader.PADDING];
    for (int b = 0; b < width; b++) {
      for (int i = 0; i < n; i++) {
        all[i * width + b] = in.bytes[from + b * n + i];
      }
    }
    return new BitReader(all, 0, n * width);
  }

  private static void strings(BitReader in, int n, byte[][] to) {
    long[] lengths = Deltas.read(in, n);
    for (int i = 0; i < n; i++) {
      int from = in.take(lengths[i]);
      to[i] = Arrays.copyOfRange(in.bytes, from, in.at);
    }
  }

  private static Values plain(BitReader in, Leaf leaf, int n) {
    Type type = leaf.type();
    // Before memory is allocated: a value has at least a bit.
    int from = in.at;
    switch (type) {
      case BOOLEAN -> in.take(((long) n + 7) / 8);
      case BYTE_ARRAY -> {
        if ((long) n * Integer.BYTES > in.left()) {
          throw new IndexOutOfBoundsException(n);
        }
      }
      default -> in.take((long) n * leaf.bytes());
    }
    Values values = allocate(type, n);
    byte[] b = in.bytes;
    switch (type) {
      case BOOLEAN -> in.unpack(from, 1, values.ints, 0, n);
      case INT32 -> {
        for (int i = 0; i < n; i++) {
          values.ints[i] = (int) INT.get(b, from + 4 * i);
        }
      }
      case INT64 -> {
        for (int i = 0; i < n; i++) {
          values.longs[i] = (long) LONG.get(b, from + 8 * i);
        }
      }
      case FLOAT -> {
        for (int i = 0; i < n; i++) {
          values.floats[i] = (float) FLOAT.get(b, from + 4 * i);
        }
      }
      case DOUBLE -> {
        for (int i = 0; i < n; i++) {
          values.doubles[i] = (double) DOUBLE.get(b, from + 8 * i);
        }
      }
      case BYTE_ARRAY -> {
        for (int i = 0; i < n; i++) {
          int length = (int) INT.get(b, in.take(Integer.BYTES));
          int start = in.take(length);
          values.bytes[i] = Arrays.copyOfRange(b, start, in.at);
        }
      }
      default -> {
        int width = leaf.bytes();
        for (int i = 0; i < n; i++) {
          values.bytes[i] = Arrays.copyOfRange(b, from + i * width, from + (i + 1) * width);
        }
      }
    }
    return values;
  }

  /** The entries of this dictionary that {@code ids} name. Strings are shared. */
  private Values pick(Type type, int[] ids) {
    if (ints != null) {
      for (int i = 0; i < ids.length; i++) {
        ids[i] = ints[ids[i]];
      }
      return new Values(ids, null, null, null, null);
    }
    Values picked = allocate(type, ids.length);
    for (int i = 0; i < ids.length; i++) {
      if (longs != null) {
        picked.longs[i] = longs[ids[i]];
      } else if (floats != null) {
        picked.floats[i] = floats[ids[i]];
      } else if (doubles != null) {
        picked.doubles[i] = doubles[ids[i]];
      } else {
        picked.bytes[i] = bytes[ids[i]];
      }
    }
    return picked;
  }
}
