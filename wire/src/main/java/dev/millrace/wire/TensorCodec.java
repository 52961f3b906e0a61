package dev.millrace.wire;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.sun.management.OperatingSystemMXBean;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.resource.Resources;
import dev.millrace.proto.DataType;
import dev.millrace.proto.ResourceHandleProto;
import dev.millrace.proto.TensorProto;
import dev.millrace.proto.TensorShapeProto;
import dev.millrace.proto.VariantTensorDataProto;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.VariantValue;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Converts tensors and shapes from and to protobuf messages by TensorFlow's rules. */
public final class TensorCodec {
  /** Size limit of a tensor in a message: the maximum size of a message. */
  private static final long MAX_BYTES = Integer.MAX_VALUE;

  /** Limit on nested variants: no program reaches it, a damaged message may. */
  private static final int MAX_DEPTH = 32;

  private TensorCodec() {}

  // ---- shapes ----

  /** Encodes a shape. */
  public static TensorShapeProto encode(Shape shape) {
    TensorShapeProto.Builder b = TensorShapeProto.newBuilder();
    if (!shape.hasRank()) {
      return b.setUnknownRank(true).build();
    }
    for (int i = 0; i < shape.rank(); i++) {
      b.addDim(TensorShapeProto.Dim.newBuilder().setSize(shape.dim(i)));
    }
    return b.build();
  }

  /** Decodes a shape. */
  public static Shape decode(TensorShapeProto p) {
    if (p.getUnknownRank()) {
      return Shape.unknown();
    }
    if (p.getDimCount() > 254) {
      throw MillraceException.invalid(
          "A shape has %d dimensions; at most 254 are possible.", p.getDimCount());
    }
    long[] d = new long[p.getDimCount()];
    for (int i = 0; i < d.length; i++) {
      d[i] = p.getDim(i).getSize();
    }
    return Shape.of(d);
  }

  /** TensorFlow's enum value of a type. */
  public static DataType encode(DType t) {
    return DataType.forNumber(t.number());
  }

  // ---- tensors to messages ----

  /** Encodes a tensor with its elements as bytes, as in responses between tasks. */
  public static TensorProto encode(Tensor t) {
    TensorProto.Builder b = header(t);
    if (t.dtype().isPlain()) {
      return b.setTensorContent(copy(t)).build();
    }
    return b.setTensorContent(framed(t)).build();
  }

  /** Encodes a tensor as a constant of a GraphDef: strings one by one, numbers as bytes. */
  public static TensorProto encodeConstant(Tensor t) {
    if (t.dtype() != DType.STRING) {
      return encode(t);
    }
    TensorProto.Builder b = header(t);
    for (Object s : t.objects()) {
      b.addStringVal(ByteString.copyFrom(s == null ? new byte[0] : (byte[]) s));
    }
    return b.build();
  }

  private static TensorProto.Builder header(Tensor t) {
    return TensorProto.newBuilder()
        .setDtypeValue(t.dtype().number())
        .setTensorShape(encode(t.shape()));
  }

  private static ByteString copy(Tensor t) {
    if (t.byteSize() > MAX_BYTES) {
      throw MillraceException.invalid(
          "A tensor of %d bytes does not fit a message of TensorFlow's protocol (2 GiB).",
          t.byteSize());
    }
    ByteString s = ByteString.copyFrom(t.data().asByteBuffer());
    java.lang.ref.Reference.reachabilityFence(t);
    return s;
  }

  /**
   * The lengths as varints, then all bytes: the encoding of strings and handles in tensor_content.
   */
  private static ByteString framed(Tensor t) {
    ByteString.Output out = ByteString.newOutput();
    try {
      CodedOutputStream coded = CodedOutputStream.newInstance(out);
      byte[][] parts = new byte[t.objects().length][];
      for (int i = 0; i < parts.length; i++) {
        parts[i] = elementBytes(t, i);
        coded.writeUInt32NoTag(parts[i].length);
      }
      for (byte[] p : parts) {
        coded.writeRawBytes(p);
      }
      coded.flush();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
    return out.toByteString();
  }

  private static byte[] elementBytes(Tensor t, int i) {
    Object o = t.objects()[i];
    return switch (o) {
      case null -> new byte[0];
      case byte[] b -> b;
      case Resources.Handle h -> encode(h).toByteArray();
      case VariantValue v -> encode(v).toByteArray();
      default ->
          throw MillraceException.invalid(
              "A %s element of class %s cannot be sent to another process.",
              t.dtype(), o.getClass().getSimpleName());
    };
  }

  private static VariantTensorDataProto encode(VariantValue v) {
    VariantTensorDataProto.Builder b =
        VariantTensorDataProto.newBuilder()
            .setTypeName(v.typeName())
            .setMetadata(ByteString.copyFrom(v.metadata()));
    v.tensors().forEach(t -> b.addTensors(encode(t)));
    return b.build();
  }

  private static ResourceHandleProto encode(Resources.Handle h) {
    return ResourceHandleProto.newBuilder()
        .setDevice(h.device())
        .setContainer(h.container())
        .setName(h.name())
        .setMaybeTypeName(h.kind())
        .build();
  }

  // ---- messages to tensors ----

  /** The tensor a message describes, owned by the caller. Throws on anything inconsistent. */
  public static Tensor decode(TensorProto p) {
    return Refs.handle(decodeCounted(p));
  }

  /** Like {@link #decode}, with one counted reference. */
  public static Tensor decodeCounted(TensorProto p) {
    return decodeCounted(p, 0);
  }

  private static Tensor decodeCounted(TensorProto p, int depth) {
    DType type = DType.of(p.getDtypeValue());
    Shape shape = decode(p.getTensorShape());
    if (!shape.isKnown()) {
      throw MillraceException.invalid("A tensor cannot have the unknown shape %s.", shape);
    }
    ByteString content = p.getTensorContent();
    if (!type.isPlain()) {
      return decodeObjects(p, type, shape, depth);
    }
    long bytes;
    try {
      bytes = Math.multiplyExact(shape.elements(), (long) type.bytes());
    } catch (ArithmeticException e) {
      throw MillraceException.invalid("A %s tensor of shape %s is too large.", type, shape);
    }
    if (!content.isEmpty()) {
      if (content.size() != bytes) {
        throw MillraceException.invalid(
            "A %s tensor of shape %s needs %d bytes of content; the message has %d.",
            type, shape, bytes, content.size());
      }
      Tensor t = Refs.allocate(type, shape);
      content.copyTo(t.data().asByteBuffer());
      return t;
    }
    int given = valueCount(p, type);
    // One value may represent a large tensor, but not one that exceeds the memory.
    if (bytes > MAX_BYTES && given < shape.elements() && bytes > memory()) {
      throw MillraceException.invalid(
          "A %s tensor of shape %s (%d bytes) is given by only %d values; more than half of this"
              + " machine's memory must be given in full.",
          type, shape, bytes, given);
    }
    Tensor t = Refs.allocate(type, shape);
    fill(p, t, given);
    return t;
  }

  /** Size limit of a tensor encoded by fewer values than it has elements. */
  private static long memory() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean machine
        ? machine.getTotalMemorySize() / 2
        : MAX_BYTES;
  }

  private static int valueCount(TensorProto p, DType type) {
    return switch (type) {
      case FLOAT -> p.getFloatValCount();
      case DOUBLE -> p.getDoubleValCount();
      case INT64 -> p.getInt64ValCount();
      case UINT32 -> p.getUint32ValCount();
      case UINT64 -> p.getUint64ValCount();
      case BOOL -> p.getBoolValCount();
      case HALF, BFLOAT16 -> p.getHalfValCount();
      case COMPLEX64 -> p.getScomplexValCount() / 2;
      case COMPLEX128 -> p.getDcomplexValCount() / 2;
      default -> p.getIntValCount();
    };
  }

  /**
   * Fills {@code t}: if there are fewer values than elements, the last one repeats; without values
   * all are zero; extra values are ignored.
   */
  private static void fill(TensorProto p, Tensor t, int given) {
    long n = t.elements();
    MemorySegment data = t.data();
    if (given == 0) {
      data.fill((byte) 0);
      return;
    }
    int size = t.dtype().bytes();
    int count = (int) Math.min(given, n);
    for (int i = 0; i < count; i++) {
      set(p, t, i);
    }
    long done = (long) count * size;
    long last = done - size;
    // Copies in doubling steps, starting from the last value.
    long filled = size;
    long remaining = data.byteSize() - done;
    if (remaining > 0) {
      MemorySegment.copy(data, last, data, done, Math.min(size, remaining));
      while (filled < remaining) {
        long chunk = Math.min(filled, remaining - filled);
        MemorySegment.copy(data, done, data, done + filled, chunk);
        filled += chunk;
      }
    }
  }

  private static void set(TensorProto p, Tensor t, int i) {
    switch (t.dtype()) {
      case FLOAT ->
          t.data().setAtIndex(java.lang.foreign.ValueLayout.JAVA_FLOAT, i, p.getFloatVal(i));
      case DOUBLE -> t.setDouble(i, p.getDoubleVal(i));
      case INT64 -> t.setLong(i, p.getInt64Val(i));
      case UINT32 -> t.setLong(i, p.getUint32Val(i));
      case UINT64 -> t.setLong(i, p.getUint64Val(i));
      case BOOL -> t.setLong(i, p.getBoolVal(i) ? 1 : 0);
      case HALF, BFLOAT16 ->
          t.data().setAtIndex(java.lang.foreign.ValueLayout.JAVA_SHORT, i, (short) p.getHalfVal(i));
      case COMPLEX64 -> {
        t.data()
            .setAtIndex(java.lang.foreign.ValueLayout.JAVA_FLOAT, 2L * i, p.getScomplexVal(2 * i));
        t.data()
            .setAtIndex(
                java.lang.foreign.ValueLayout.JAVA_FLOAT, 2L * i + 1, p.getScomplexVal(2 * i + 1));
      }
      case COMPLEX128 -> {
        t.data()
            .setAtIndex(java.lang.foreign.ValueLayout.JAVA_DOUBLE, 2L * i, p.getDcomplexVal(2 * i));
        t.data()
            .setAtIndex(
                java.lang.foreign.ValueLayout.JAVA_DOUBLE, 2L * i + 1, p.getDcomplexVal(2 * i + 1));
      }
      default -> t.setLong(i, p.getIntVal(i));
    }
  }

  private static Tensor decodeObjects(TensorProto p, DType type, Shape shape, int depth) {
    ByteString content = p.getTensorContent();
    int given = type == DType.STRING ? p.getStringValCount() : p.getResourceHandleValCount();
    long most = content.isEmpty() ? Math.max(given, 1L << 24) : content.size();
    if (shape.elements() > most) {
      throw MillraceException.invalid(
          "A %s tensor of shape %s cannot come out of a message with %d values and %d bytes.",
          type, shape, given, content.size());
    }
    Object[] elements = new Object[(int) shape.elements()];
    if (type == DType.VARIANT) {
      return decodeVariants(p, shape, elements, depth);
    }
    if (!content.isEmpty()) {
      byte[][] parts = unframe(content, type, elements.length);
      for (int i = 0; i < parts.length; i++) {
        elements[i] = type == DType.RESOURCE ? decodeHandle(parts[i]) : parts[i];
      }
    } else {
      for (int i = 0; i < elements.length; i++) {
        int k = Math.min(i, given - 1);
        if (type == DType.STRING) {
          elements[i] = given == 0 ? new byte[0] : p.getStringVal(k).toByteArray();
        } else {
          elements[i] = given == 0 ? null : decode(p.getResourceHandleVal(k));
        }
      }
    }
    return Refs.ofObjects(type, shape, elements);
  }

  /** Variants may hold tensors that are variants, and so on. */
  private static Tensor decodeVariants(TensorProto p, Shape shape, Object[] elements, int depth) {
    if (depth > MAX_DEPTH) {
      throw MillraceException.invalid("Variants are nested more than %d deep.", MAX_DEPTH);
    }
    Tensor out = Refs.ofObjects(DType.VARIANT, shape, elements);
    try {
      ByteString content = p.getTensorContent();
      if (!content.isEmpty()) {
        byte[][] parts = unframe(content, DType.VARIANT, elements.length);
        for (int i = 0; i < parts.length; i++) {
          elements[i] = decode(VariantTensorDataProto.parseFrom(parts[i]), depth);
        }
      } else {
        for (int i = 0; i < Math.min(elements.length, p.getVariantValCount()); i++) {
          elements[i] = decode(p.getVariantVal(i), depth);
        }
      }
      return out;
    } catch (InvalidProtocolBufferException e) {
      Refs.release(out);
      throw MillraceException.invalid("A variant is malformed: %s", e.getMessage());
    } catch (RuntimeException e) {
      Refs.release(out);
      throw e;
    }
  }

  private static @Nullable VariantValue decode(VariantTensorDataProto v, int depth) {
    if (v.getTypeName().isEmpty()) {
      return null;
    }
    List<Tensor> tensors = new ArrayList<>();
    try {
      v.getTensorsList().forEach(t -> tensors.add(decodeCounted(t, depth + 1)));
    } catch (RuntimeException e) {
      tensors.forEach(Refs::release);
      throw e;
    }
    return new VariantValue.Encoded(v.getTypeName(), v.getMetadata().toByteArray(), tensors);
  }

  private static Resources.Handle decodeHandle(byte[] bytes) {
    try {
      return decode(ResourceHandleProto.parseFrom(bytes));
    } catch (InvalidProtocolBufferException e) {
      throw MillraceException.invalid("A resource handle is malformed: %s", e.getMessage());
    }
  }

  private static byte[][] unframe(ByteString content, DType type, int count) {
    try {
      com.google.protobuf.CodedInputStream in = content.newCodedInput();
      byte[][] parts = new byte[count][];
      int[] lengths = new int[count];
      for (int i = 0; i < lengths.length; i++) {
        lengths[i] = in.readUInt32();
      }
      for (int i = 0; i < lengths.length; i++) {
        if (lengths[i] < 0) {
          throw new IOException("a negative length");
        }
        parts[i] = in.readRawBytes(lengths[i]);
      }
      if (!in.isAtEnd()) {
        throw new IOException("bytes left over");
      }
      return parts;
    } catch (IOException e) {
      throw MillraceException.invalid(
          "The content of a %s tensor with %d elements (%d bytes) is malformed: %s.",
          type, count, content.size(), e.getMessage());
    }
  }

  private static Resources.Handle decode(ResourceHandleProto h) {
    return new Resources.Handle(h.getDevice(), h.getContainer(), h.getName(), h.getMaybeTypeName());
  }

  /** Parses and decodes a serialised TensorProto. */
  public static Tensor parse(byte[] serialized) {
    try {
      return decode(TensorProto.parseFrom(serialized));
    } catch (InvalidProtocolBufferException e) {
      throw MillraceException.invalid(
          "%d bytes are not a TensorProto: %s", serialized.length, e.getMessage());
    }
  }

  /** Whether two tensors have the same type, shape and contents. */
  static boolean same(Tensor a, Tensor b) {
    if (a.dtype() != b.dtype() || !a.shape().equals(b.shape())) {
      return false;
    }
    return a.dtype().isPlain()
        ? a.data().mismatch(b.data()) < 0
        : Arrays.deepEquals(a.objects(), b.objects());
  }
}
