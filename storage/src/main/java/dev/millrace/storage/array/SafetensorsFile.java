package dev.millrace.storage.array;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.AtomicFile;
import dev.millrace.storage.Failures;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * A safetensors file: the length of a header, the header as JSON, and the tensors behind each
 * other, little-endian and in row-major order.
 */
final class SafetensorsFile implements TensorSource {
  private static final String METADATA = "__metadata__";

  /** What the format allows. */
  private static final long MOST_HEADER = 100_000_000;

  private static final int LENGTH_BYTES = 8;

  private static final Map<DType, String> CODES =
      Map.ofEntries(
          Map.entry(DType.BOOL, "BOOL"),
          Map.entry(DType.UINT8, "U8"),
          Map.entry(DType.INT8, "I8"),
          Map.entry(DType.UINT16, "U16"),
          Map.entry(DType.INT16, "I16"),
          Map.entry(DType.UINT32, "U32"),
          Map.entry(DType.INT32, "I32"),
          Map.entry(DType.UINT64, "U64"),
          Map.entry(DType.INT64, "I64"),
          Map.entry(DType.HALF, "F16"),
          Map.entry(DType.BFLOAT16, "BF16"),
          Map.entry(DType.FLOAT, "F32"),
          Map.entry(DType.DOUBLE, "F64"),
          Map.entry(DType.COMPLEX64, "C64"));

  /** A tensor; {@code from} is where it begins behind the header. */
  private record Place(DType dtype, Shape shape, long from, long to) {}

  private final Path file;
  private final FileChannel channel;
  private final Map<String, Place> places = new LinkedHashMap<>();
  private final long data;

  SafetensorsFile(Path file) {
    this.file = file;
    try {
      channel = FileChannel.open(file);
    } catch (IOException e) {
      throw Failures.io("Cannot read", file, e);
    }
    try {
      long size = channel.size();
      long length = bytes(0, LENGTH_BYTES).getLong();
      if (length < 2 || length > MOST_HEADER || length > size - LENGTH_BYTES) {
        throw damaged("it says that its header has " + length + " bytes", null);
      }
      data = LENGTH_BYTES + length;
      parse(StandardCharsets.UTF_8.decode(bytes(LENGTH_BYTES, (int) length)).toString());
      check(size);
    } catch (IOException e) {
      close();
      throw e instanceof EOFException
          ? damaged("it is too short", e)
          : Failures.io("Cannot read", file, e);
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  private MillraceException damaged(String why, @Nullable Exception cause) {
    return new MillraceException(
        Code.DATA_LOSS, file + " is damaged or no safetensors file: " + why + ".", cause);
  }

  private ByteBuffer bytes(long from, int n) throws IOException {
    ByteBuffer b = ByteBuffer.allocate(n).order(ByteOrder.LITTLE_ENDIAN);
    fill(b, from);
    return b.flip();
  }

  private void fill(ByteBuffer to, long from) throws IOException {
    long at = from;
    while (to.hasRemaining()) {
      int n = channel.read(to, at);
      if (n < 0) {
        throw new EOFException();
      }
      at += n;
    }
  }

  private void parse(String header) {
    Map<String, Object> all;
    try {
      all = SafetensorsHeader.parse(header);
    } catch (MillraceException e) {
      throw damaged(String.valueOf(e.getMessage()), e);
    }
    all.remove(METADATA);
    all.forEach(
        (name, said) -> {
          if (said instanceof Map<?, ?> m
              && m.get("dtype") instanceof String code
              && m.get("shape") instanceof List<?> dims
              && m.get("data_offsets") instanceof List<?> ends
              && ends.size() == 2) {
            places.put(name, place(name, code, numbers(name, dims), numbers(name, ends)));
          } else {
            throw damaged("it says of '" + name + "' only " + said, null);
          }
        });
  }

  private long[] numbers(String name, List<?> said) {
    long[] numbers = new long[said.size()];
    for (int i = 0; i < numbers.length; i++) {
      if (!(said.get(i) instanceof Long n)) {
        throw damaged("it says of '" + name + "' " + said, null);
      }
      numbers[i] = n;
    }
    return numbers;
  }

  private Place place(String name, String code, long[] dims, long[] ends) {
    DType dtype = null;
    for (Map.Entry<DType, String> e : CODES.entrySet()) {
      if (e.getValue().equals(code)) {
        dtype = e.getKey();
      }
    }
    if (dtype == null) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          "Tensor '" + name + "' of " + file + " is " + code + ", a type that is not read.");
    }
    try {
      long bytes = dtype.bytes();
      for (long d : dims) {
        bytes = Math.multiplyExact(bytes, d);
      }
      if (ends[1] - ends[0] == bytes) {
        return new Place(dtype, Shape.of(dims), ends[0], ends[1]);
      }
    } catch (ArithmeticException e) {
      // No file has so many.
    }
    throw damaged("'" + name + "' does not fill the bytes " + Arrays.toString(ends), null);
  }

  /** The tensors must stand behind each other without gaps, to the end of the file. */
  private void check(long size) {
    List<Place> sorted = new ArrayList<>(places.values());
    sorted.sort(Comparator.comparingLong(Place::from).thenComparingLong(Place::to));
    long end = 0;
    for (Place p : sorted) {
      if (p.from != end) {
        throw damaged("byte " + end + " belongs to no tensor, or to two", null);
      }
      end = p.to;
    }
    if (end != size - data) {
      throw damaged("it has " + (size - data) + " bytes of tensors; they need " + end, null);
    }
  }

  private Place get(String name) {
    Place p = places.get(name);
    if (p == null) {
      throw new MillraceException(
          Code.NOT_FOUND, file + " has no tensor '" + name + "'; it has " + names() + ".");
    }
    return p;
  }

  @Override
  public List<String> names() {
    return List.copyOf(places.keySet());
  }

  @Override
  public DType dtype(String name) {
    return get(name).dtype;
  }

  @Override
  public Shape shape(String name) {
    return get(name).shape;
  }

  @Override
  public Tensor read(String name) {
    Place p = get(name);
    Tensor t = Tensor.allocate(p.dtype, p.shape);
    try {
      MemorySegment to = t.data();
      for (long at = 0; at < to.byteSize(); ) {
        long n = Math.min(1 << 30, to.byteSize() - at);
        fill(to.asSlice(at, n).asByteBuffer(), data + p.from + at);
        at += n;
      }
      return t;
    } catch (IOException e) {
      t.close();
      throw e instanceof EOFException
          ? damaged("it is shorter than it was", e)
          : Failures.io("Cannot read", file, e);
    }
  }

  /** Writes tensors. */
  static void write(Path file, AtomicFile to, TensorSource tensors) {
    long at = 0;
    List<String> entries = new ArrayList<>();
    for (String name : tensors.names()) {
      DType dtype = tensors.dtype(name);
      Shape shape = tensors.shape(name);
      String code = CODES.get(dtype);
      if (code == null) {
        throw MillraceException.invalid(
            "Tensor '%s' is %s, which a safetensors file cannot hold. Leave it out, or write"
                + " %s as .npz.",
            name, dtype, file.getFileName());
      }
      long end = at + shape.elements() * dtype.bytes();
      String dims =
          Arrays.stream(shape.dims()).mapToObj(Long::toString).collect(Collectors.joining(","));
      entries.add(
          "%s:{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%d,%d]}"
              .formatted(SafetensorsHeader.quoted(name), code, dims, at, end));
      at = end;
    }
    byte[] header = ("{" + String.join(",", entries) + "}").getBytes(StandardCharsets.UTF_8);
    // Tensors begin at a multiple of eight bytes.
    int padded = (header.length + 7) / 8 * 8;
    ByteBuffer start = ByteBuffer.allocate(LENGTH_BYTES + padded).order(ByteOrder.LITTLE_ENDIAN);
    start.putLong(padded).put(header);
    while (start.hasRemaining()) {
      start.put((byte) ' ');
    }
    to.write(start.flip());
    for (String name : tensors.names()) {
      try (Tensor t = tensors.read(name)) {
        to.write(t.data(), new CRC32C());
        Reference.reachabilityFence(t);
      }
    }
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw Failures.io("Cannot close", file, e);
    }
  }
}
