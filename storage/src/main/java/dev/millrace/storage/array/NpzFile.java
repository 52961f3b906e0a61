package dev.millrace.storage.array;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.AtomicFile;
import dev.millrace.storage.Failures;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.Arrays;
import java.util.Enumeration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/** A file of NumPy's {@code savez} or {@code savez_compressed}: a zip of {@code .npy} arrays. */
final class NpzFile implements TensorSource {
  private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};
  private static final String ENDING = ".npy";
  private static final int MOST_HEADER = 1 << 16;
  private static final int PIECE = 1 << 16;

  /** Deflate makes at most so much of a byte; more is a false size. */
  private static final long MOST_INFLATION = 1100;

  /** What NumPy gives its entries, too. */
  private static final LocalDateTime TIME = LocalDateTime.of(1980, 1, 1, 0, 0);

  private final Path file;
  private final ZipFile zip;
  private final Map<String, Array> arrays = new LinkedHashMap<>();

  /** An array of the file. */
  private record Array(ZipEntry entry, NpyHeader header) {}

  NpzFile(Path file) {
    this.file = file;
    try {
      zip = new ZipFile(file.toFile());
    } catch (ZipException e) {
      throw Failures.corrupt(file, "it is damaged or no .npz file: %s", e.getMessage());
    } catch (IOException e) {
      throw Failures.io("Cannot read", file, e);
    }
    try {
      for (Enumeration<? extends ZipEntry> all = zip.entries(); all.hasMoreElements(); ) {
        ZipEntry e = all.nextElement();
        if (e.getName().endsWith(ENDING)) {
          String name = e.getName().substring(0, e.getName().length() - ENDING.length());
          try (InputStream in = zip.getInputStream(e)) {
            arrays.put(name, new Array(e, header(name, e, in)));
          }
        }
      }
    } catch (IOException e) {
      close();
      throw damaged(e);
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  private MillraceException damaged(IOException e) {
    return new MillraceException(
        Code.DATA_LOSS, file + " is damaged or no .npz file: " + Failures.reason(e) + ".", e);
  }

  /** Reads a header, and checks that there are as many bytes behind it as it says. */
  private NpyHeader header(String name, ZipEntry entry, InputStream in) throws IOException {
    String array = "Array '" + name + "' of " + file;
    byte[] start = in.readNBytes(8);
    if (start.length < 8 || !Arrays.equals(start, 0, 6, MAGIC, 0, 6)) {
      throw Failures.corrupt(file, "array '%s' does not begin as a .npy file does.", name);
    }
    int version = start[6];
    int bytes = version == 1 ? 2 : 4;
    byte[] size = Arrays.copyOf(in.readNBytes(bytes), 4);
    int length = ByteBuffer.wrap(size).order(ByteOrder.LITTLE_ENDIAN).getInt();
    if (version < 1 || version > 3 || length < 0 || length > MOST_HEADER) {
      throw Failures.corrupt(
          file, "array '%s' has version %d and a header of %d bytes.", name, version, length);
    }
    String text = new String(in.readNBytes(length), StandardCharsets.UTF_8);
    NpyHeader h = NpyHeader.parse(text, array);
    long rest = entry.getSize() - 8 - bytes - length;
    boolean plausible = rest <= MOST_INFLATION * (entry.getCompressedSize() + 1);
    if (!plausible || product(h) != rest) {
      throw Failures.corrupt(
          file, "array '%s' is %s%s, but has %d bytes.", name, h.dtype(), h.shape(), rest);
    }
    return h;
  }

  /** The bytes of an array; negative if they are beyond all numbers. */
  private static long product(NpyHeader h) {
    try {
      long bytes = h.width();
      for (long d : h.shape().dims()) {
        bytes = Math.multiplyExact(bytes, d);
      }
      return bytes;
    } catch (ArithmeticException e) {
      return -1;
    }
  }

  private Array get(String name) {
    Array a = arrays.get(name);
    if (a == null) {
      throw new MillraceException(
          Code.NOT_FOUND, file + " has no array '" + name + "'; it has " + names() + ".");
    }
    return a;
  }

  @Override
  public List<String> names() {
    return List.copyOf(arrays.keySet());
  }

  @Override
  public DType dtype(String name) {
    return get(name).header.dtype();
  }

  @Override
  public Shape shape(String name) {
    return get(name).header.shape();
  }

  @Override
  public Tensor read(String name) {
    Array array = get(name);
    try (InputStream in = zip.getInputStream(array.entry)) {
      NpyHeader h = header(name, array.entry, in);
      return h.kind() == 0 ? numbers(h, in) : strings(h, in);
    } catch (IOException e) {
      throw damaged(e);
    }
  }

  private static Tensor numbers(NpyHeader h, InputStream in) throws IOException {
    Tensor read = Tensor.allocate(h.dtype(), h.shape());
    try {
      MemorySegment data = read.data();
      byte[] piece = new byte[PIECE];
      for (long at = 0; at < data.byteSize(); ) {
        int n = in.readNBytes(piece, 0, (int) Math.min(PIECE, data.byteSize() - at));
        if (n == 0) {
          throw new EOFException("an array is cut short");
        }
        MemorySegment.copy(piece, 0, data, ValueLayout.JAVA_BYTE, at, n);
        at += n;
      }
      if (h.swapped()) {
        swap(data, h.dtype().isComplex() ? h.width() / 2 : h.width());
      }
      if (h.fortran() && h.shape().rank() > 1) {
        Tensor rows = Tensor.allocate(h.dtype(), h.shape());
        long[] places = places(h.shape());
        for (int i = 0; i < places.length; i++) {
          Refs.copyBytes(read, places[i] * h.width(), rows, (long) i * h.width(), h.width());
        }
        read.close();
        return rows;
      }
      return read;
    } catch (IOException | RuntimeException e) {
      read.close();
      throw e;
    }
  }

  /** Reverses the bytes of every number. */
  private static void swap(MemorySegment data, int width) {
    for (long at = 0; at < data.byteSize(); at += width) {
      for (int i = 0; i < width / 2; i++) {
        byte b = data.get(ValueLayout.JAVA_BYTE, at + i);
        data.set(
            ValueLayout.JAVA_BYTE, at + i, data.get(ValueLayout.JAVA_BYTE, at + width - 1 - i));
        data.set(ValueLayout.JAVA_BYTE, at + width - 1 - i, b);
      }
    }
  }

  /** Where in Fortran's order each element of the row-major order stands. */
  private static long[] places(Shape shape) {
    long[] places = new long[Math.toIntExact(shape.elements())];
    long[] index = new long[shape.rank()];
    long[] strides = new long[shape.rank()];
    long stride = 1;
    for (int d = 0; d < strides.length; d++) {
      strides[d] = stride;
      stride *= shape.dim(d);
    }
    long place = 0;
    for (int i = 0; i < places.length; i++) {
      places[i] = place;
      for (int d = index.length - 1; d >= 0; d--) {
        index[d]++;
        place += strides[d];
        if (index[d] < shape.dim(d)) {
          break;
        }
        place -= strides[d] * index[d];
        index[d] = 0;
      }
    }
    return places;
  }

  private static Tensor strings(NpyHeader h, InputStream in) throws IOException {
    Object[] all = new Object[Math.toIntExact(h.shape().elements())];
    byte[] element = new byte[h.width()];
    for (int i = 0; i < all.length; i++) {
      if (in.readNBytes(element, 0, element.length) < element.length) {
        throw new EOFException("an array is cut short");
      }
      all[i] = h.kind() == 'S' ? bytes(element) : text(element, h.swapped());
    }
    if (h.fortran() && h.shape().rank() > 1) {
      long[] places = places(h.shape());
      Object[] rows = new Object[all.length];
      for (int i = 0; i < rows.length; i++) {
        rows[i] = all[(int) places[i]];
      }
      all = rows;
    }
    return Tensor.ofObjects(DType.STRING, h.shape(), all);
  }

  /** NumPy fills up strings with zeros. */
  private static byte[] bytes(byte[] padded) {
    int n = padded.length;
    while (n > 0 && padded[n - 1] == 0) {
      n--;
    }
    return Arrays.copyOf(padded, n);
  }

  private static byte[] text(byte[] codePoints, boolean swapped) throws IOException {
    ByteBuffer in = ByteBuffer.wrap(codePoints);
    in.order(swapped ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
    StringBuilder b = new StringBuilder();
    while (in.hasRemaining()) {
      int c = in.getInt();
      if (!Character.isValidCodePoint(c)) {
        throw new IOException("a string has a character " + c);
      }
      b.appendCodePoint(c);
    }
    return bytes(b.toString().getBytes(StandardCharsets.UTF_8));
  }

  /** Writes arrays as {@code numpy.savez} does. */
  static void write(Path file, AtomicFile to, TensorSource tensors) {
    try (ZipOutputStream zip = new ZipOutputStream(new Stream(to))) {
      for (String name : tensors.names()) {
        try (Tensor t = tensors.read(name)) {
          write("Array '" + name + "' for " + file, name, zip, t);
        }
      }
    } catch (IOException e) {
      throw Failures.io("Cannot write", file, e);
    }
  }

  private static void write(String array, String name, ZipOutputStream zip, Tensor t)
      throws IOException {
    boolean strings = t.dtype() == DType.STRING;
    int width = strings ? width(array, t) : 0;
    byte[] header =
        header(NpyHeader.text(strings ? "S" + width : NpyHeader.code(t.dtype(), array), t.shape()));
    // The size and the checksum of an entry that is not compressed stand before it.
    CRC32 crc = new CRC32();
    Pieces sum = (bytes, n) -> crc.update(bytes, 0, n);
    sum.take(header, header.length);
    pieces(t, width, sum);
    ZipEntry entry = new ZipEntry(name + ENDING);
    entry.setMethod(ZipEntry.STORED);
    entry.setTimeLocal(TIME);
    entry.setSize(header.length + (strings ? (long) width * t.elements() : t.byteSize()));
    entry.setCrc(crc.getValue());
    zip.putNextEntry(entry);
    zip.write(header);
    pieces(t, width, (bytes, n) -> zip.write(bytes, 0, n));
    zip.closeEntry();
    Reference.reachabilityFence(t);
  }

  /** The bytes of the longest string. */
  private static int width(String array, Tensor t) {
    int width = 1;
    for (Object o : t.objects()) {
      byte[] s = (byte[]) o;
      if (s.length > 0 && s[s.length - 1] == 0) {
        throw MillraceException.invalid(
            "%s has a string that ends in a zero byte, which NumPy would lose.", array);
      }
      width = Math.max(width, s.length);
    }
    return width;
  }

  private static byte[] header(String text) {
    // The data begins at a multiple of 64 bytes, and the header ends with a new line.
    int padding = 63 - (MAGIC.length + 4 + text.length()) % 64;
    byte[] padded = (text + " ".repeat(padding) + "\n").getBytes(StandardCharsets.US_ASCII);
    return ByteBuffer.allocate(MAGIC.length + 4 + padded.length)
        .order(ByteOrder.LITTLE_ENDIAN)
        .put(MAGIC)
        .put((byte) 1)
        .put((byte) 0)
        .putShort((short) padded.length)
        .put(padded)
        .array();
  }

  /** What takes the first {@code n} of some bytes. */
  private interface Pieces {
    void take(byte[] bytes, int n) throws IOException;
  }

  private static void pieces(Tensor t, int width, Pieces to) throws IOException {
    if (width > 0) {
      for (Object o : t.objects()) {
        to.take(Arrays.copyOf((byte[]) o, width), width);
      }
      return;
    }
    byte[] piece = new byte[PIECE];
    MemorySegment data = t.data();
    for (long at = 0; at < data.byteSize(); at += PIECE) {
      int n = (int) Math.min(PIECE, data.byteSize() - at);
      MemorySegment.copy(data, ValueLayout.JAVA_BYTE, at, piece, 0, n);
      to.take(piece, n);
    }
  }

  /** An atomic file as a stream. */
  private static final class Stream extends OutputStream {
    private final AtomicFile to;

    Stream(AtomicFile to) {
      this.to = to;
    }

    @Override
    public void write(int b) {
      write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int from, int n) {
      to.write(ByteBuffer.wrap(bytes, from, n));
    }
  }

  @Override
  public void close() {
    try {
      zip.close();
    } catch (IOException e) {
      throw Failures.io("Cannot close", file, e);
    }
  }
}
