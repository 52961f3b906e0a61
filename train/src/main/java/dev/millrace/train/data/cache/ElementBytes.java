package dev.millrace.train.data.cache;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Elements as bytes: for each tensor its type, shape and values, strings behind their lengths. */
final class ElementBytes {
  private ElementBytes() {}

  static byte[] encode(Tensor[] element) {
    long size = Integer.BYTES;
    for (Tensor t : element) {
      size += 2L * Integer.BYTES + (long) Long.BYTES * t.shape().rank();
      size += t.dtype() == DType.STRING ? stringBytes(t) : t.byteSize();
      if (t.dtype() != DType.STRING && !t.dtype().isPlain()) {
        throw MillraceException.invalid("Elements of type %s cannot be cached.", t.dtype());
      }
    }
    ByteBuffer to = ByteBuffer.allocate(Math.toIntExact(size)).order(ByteOrder.LITTLE_ENDIAN);
    to.putInt(element.length);
    for (Tensor t : element) {
      to.putInt(t.dtype().number()).putInt(t.shape().rank());
      for (long d : t.shape().dims()) {
        to.putLong(d);
      }
      if (t.dtype() == DType.STRING) {
        for (long i = 0; i < t.elements(); i++) {
          byte[] text = t.bytesAt(i);
          to.putInt(text.length).put(text);
        }
      } else {
        MemorySegment.copy(
            t.data(), ValueLayout.JAVA_BYTE, 0, to.array(), to.position(), (int) t.byteSize());
        to.position(to.position() + (int) t.byteSize());
      }
    }
    return to.array();
  }

  private static long stringBytes(Tensor t) {
    long bytes = 0;
    for (long i = 0; i < t.elements(); i++) {
      bytes += Integer.BYTES + t.bytesAt(i).length;
    }
    return bytes;
  }

  static Tensor[] decode(byte[] bytes) {
    ByteBuffer from = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    Tensor[] element = new Tensor[from.getInt()];
    for (int c = 0; c < element.length; c++) {
      DType type = DType.of(from.getInt());
      long[] dims = new long[from.getInt()];
      for (int d = 0; d < dims.length; d++) {
        dims[d] = from.getLong();
      }
      Shape shape = Shape.of(dims);
      if (type == DType.STRING) {
        Object[] texts = new Object[Math.toIntExact(shape.elements())];
        for (int i = 0; i < texts.length; i++) {
          byte[] text = new byte[from.getInt()];
          from.get(text);
          texts[i] = text;
        }
        element[c] = Tensor.ofObjects(type, shape, texts);
      } else {
        Tensor t = Tensor.allocate(type, shape);
        int n = (int) t.byteSize();
        MemorySegment.copy(bytes, from.position(), t.data(), ValueLayout.JAVA_BYTE, 0, n);
        from.position(from.position() + n);
        element[c] = t;
      }
    }
    return element;
  }
}
