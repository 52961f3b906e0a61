package dev.millrace.storage.checkpoint;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import com.google.protobuf.ByteString;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.TensorProto;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;

/**
 * Encodes the elements of a tensor as checkpoints of version 1 do: one value per element in the
 * field of its type, without type and shape.
 */
final class SliceValues {
  private SliceValues() {}

  static TensorProto of(Tensor t) {
    TensorProto.Builder p = TensorProto.newBuilder();
    // All elements go into one message, and a message is limited to 2 GiB.
    if (t.elements() * bytesPerElement(t.dtype()) >= Integer.MAX_VALUE) {
      throw MillraceException.invalid(
          "Tensor slice is too large to serialize: %s%s may take %d bytes in a checkpoint of"
              + " version 1, which has room for 2 GiB. Use version 2 (SaveV2).",
          t.dtype(), t.shape(), t.elements() * bytesPerElement(t.dtype()));
    }
    int n = Math.toIntExact(t.elements());
    for (int i = 0; i < n; i++) {
      switch (t.dtype()) {
        case FLOAT -> p.addFloatVal(t.data().get(JAVA_FLOAT_UNALIGNED, 4L * i));
        case DOUBLE -> p.addDoubleVal(t.doubleAt(i));
        case INT32, INT16, INT8, UINT16, UINT8 -> p.addIntVal((int) t.longAt(i));
        case INT64 -> p.addInt64Val(t.longAt(i));
        case BOOL -> p.addBoolVal(t.longAt(i) != 0);
        case HALF -> p.addHalfVal(t.data().get(JAVA_SHORT_UNALIGNED, 2L * i) & 0xFFFF);
        case COMPLEX64 -> {
          p.addScomplexVal(t.data().get(JAVA_FLOAT_UNALIGNED, 8L * i));
          p.addScomplexVal(t.data().get(JAVA_FLOAT_UNALIGNED, 8L * i + 4));
        }
        case COMPLEX128 -> {
          p.addDcomplexVal(t.data().get(JAVA_DOUBLE_UNALIGNED, 16L * i));
          p.addDcomplexVal(t.data().get(JAVA_DOUBLE_UNALIGNED, 16L * i + 8));
        }
        case STRING -> p.addStringVal(ByteString.copyFrom(t.bytesAt(i)));
        default ->
            throw new MillraceException(
                Code.UNIMPLEMENTED,
                "Checkpoints of version 1 cannot hold "
                    + t.dtype()
                    + " tensors. Use version 2 (SaveV2).");
      }
    }
    return p.build();
  }

  /** The maximum encoded size of an element. A varint may be longer than the value in memory. */
  private static long bytesPerElement(DType dtype) {
    return switch (dtype) {
      case INT32, INT16, INT8, INT64 -> 10;
      case UINT16, HALF -> 3;
      case UINT8 -> 2;
      default -> Math.max(1, dtype.bytes());
    };
  }

  /** The number of elements of {@code dtype} in {@code p}. */
  static long count(TensorProto p, DType dtype) {
    return switch (dtype) {
      case FLOAT -> p.getFloatValCount();
      case DOUBLE -> p.getDoubleValCount();
      case INT32, INT16, INT8, UINT16, UINT8 -> p.getIntValCount();
      case INT64 -> p.getInt64ValCount();
      case BOOL -> p.getBoolValCount();
      case HALF -> p.getHalfValCount();
      case COMPLEX64 -> p.getScomplexValCount() / 2;
      case COMPLEX128 -> p.getDcomplexValCount() / 2;
      case STRING -> p.getStringValCount();
      default ->
          throw new MillraceException(
              Code.UNIMPLEMENTED, "Cannot restore " + dtype + " from a checkpoint of version 1.");
    };
  }

  /** Copies the elements of the {@code runs} to {@code out}. */
  static void copy(TensorProto p, CommonRuns runs, Tensor out) {
    while (runs.next()) {
      for (long k = 0; k < runs.length(); k++) {
        set(out, runs.to() + k, p, (int) (runs.from() + k));
      }
    }
  }

  private static void set(Tensor out, long to, TensorProto p, int i) {
    switch (out.dtype()) {
      case FLOAT -> out.data().set(JAVA_FLOAT_UNALIGNED, 4 * to, p.getFloatVal(i));
      case DOUBLE -> out.setDouble(to, p.getDoubleVal(i));
      case INT64 -> out.setLong(to, p.getInt64Val(i));
      case BOOL -> out.setLong(to, p.getBoolVal(i) ? 1 : 0);
      case HALF -> out.data().set(JAVA_SHORT_UNALIGNED, 2 * to, (short) p.getHalfVal(i));
      case COMPLEX64 -> {
        MemorySegment m = out.data();
        m.set(JAVA_FLOAT_UNALIGNED, 8 * to, p.getScomplexVal(2 * i));
        m.set(JAVA_FLOAT_UNALIGNED, 8 * to + 4, p.getScomplexVal(2 * i + 1));
      }
      case COMPLEX128 -> {
        MemorySegment m = out.data();
        m.set(JAVA_DOUBLE_UNALIGNED, 16 * to, p.getDcomplexVal(2 * i));
        m.set(JAVA_DOUBLE_UNALIGNED, 16 * to + 8, p.getDcomplexVal(2 * i + 1));
      }
      case STRING -> out.objects()[(int) to] = p.getStringVal(i).toByteArray();
      default -> out.setLong(to, p.getIntVal(i));
    }
  }
}
