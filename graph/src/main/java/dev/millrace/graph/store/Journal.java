package dev.millrace.graph.store;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * Records in the order of their commits. Two files take turns: when one is full, the other begins
 * with a record that sums up all before it. A record is valid once the one number that says where
 * the records end lies behind it; that number is stored at once.
 *
 * <p>A file begins with a page: {@code magic, version, generation, end}. The end is followed in the
 * same 8 bytes by a checksum of itself and the generation. A record is its length, its checksum and
 * its bytes.
 *
 * <p>Threading: one thread at a time.
 */
final class Journal implements AutoCloseable {
  static final long VERSION = 1;

  private static final long MAGIC = 0x4d494c4c53544154L; // "MILLSTAT"
  private static final int PAGE = 4096;
  private static final long GENERATION_AT = 16;
  private static final long END_AT = 24;
  private static final int FRAME = 8;
  private static final int EXTENT = 1 << 20;
  private static final int CHECK_BITS = 24;
  private static final long CHECK_MASK = (1 << CHECK_BITS) - 1;

  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
  private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;

  private final long capacity;
  private final MappedFile[] files;
  private final List<ByteBuffer> records = new ArrayList<>();
  private int current;
  private long generation;
  private long end;

  private Journal(long capacity, MappedFile... files) {
    this.capacity = capacity;
    this.files = files;
  }

  /** Opens the journal of a folder, or begins one. */
  static Journal open(Path folder, long capacity) {
    MappedFile first = MappedFile.open(folder.resolve("journal-0"), capacity);
    try {
      MappedFile second = MappedFile.open(folder.resolve("journal-1"), capacity);
      Journal journal = new Journal(capacity, first, second);
      try {
        journal.read();
        return journal;
      } catch (RuntimeException e) {
        second.close();
        throw e;
      }
    } catch (RuntimeException e) {
      first.close();
      throw e;
    }
  }

  /** Whether a folder has a journal. */
  static boolean isIn(Path folder) throws IOException {
    return Files.exists(folder.resolve("journal-0"));
  }

  private void read() {
    long[] ends = new long[files.length];
    int valid = -1;
    for (int i = 0; i < files.length; i++) {
      ends[i] = endOf(files[i]);
      if (ends[i] > 0 && (valid < 0 || generationOf(i) > generationOf(valid))) {
        valid = i;
      }
    }
    if (valid < 0) {
      begin(0, 1);
      return;
    }
    current = valid;
    generation = generationOf(valid);
    end = ends[valid];
    files[current].reservedBefore(end);
    readRecords(files[current]);
  }

  private long generationOf(int i) {
    return files[i].memory().get(LONG, GENERATION_AT);
  }

  /** Where the records of a file end; 0 if it has none. */
  private static long endOf(MappedFile file) {
    MemorySegment m = file.memory();
    long magic = m.get(LONG, 0);
    long version = m.get(LONG, 8);
    long word = m.get(LONG, END_AT);
    long generation = m.get(LONG, GENERATION_AT);
    if (word == 0) {
      // It is new, or its process ended before the first record was valid.
      return 0;
    }
    if (magic != MAGIC) {
      throw StoreFailures.damaged(file.path(), "it does not begin like a store of Millrace");
    }
    if (version != VERSION) {
      throw StoreFailures.damaged(
          file.path(),
          "it says version " + version + " of the format, and this program reads " + VERSION);
    }
    long end = word >>> CHECK_BITS;
    if ((word & CHECK_MASK) != check(end, generation) || end < PAGE || end > m.byteSize()) {
      throw StoreFailures.damaged(file.path(), "its first page does not match its checksum");
    }
    return end;
  }

  private static long check(long end, long generation) {
    CRC32C crc = new CRC32C();
    crc.update(ByteBuffer.allocate(16).putLong(end).putLong(generation).flip());
    return crc.getValue() & CHECK_MASK;
  }

  private void readRecords(MappedFile file) {
    MemorySegment m = file.memory();
    long at = PAGE;
    while (at < end) {
      int length = end - at < FRAME ? -1 : m.get(INT, at);
      if (length < 0 || length > end - at - FRAME) {
        throw StoreFailures.damaged(file.path(), "the record at byte " + at + " has no length");
      }
      ByteBuffer bytes = ByteBuffer.allocate(length);
      bytes.put(m.asSlice(at + FRAME, length).asByteBuffer()).flip();
      if (m.get(INT, at + 4) != check(bytes)) {
        throw StoreFailures.damaged(
            file.path(), "the record at byte " + at + " does not match its checksum");
      }
      records.add(bytes);
      at += padded(length);
    }
  }

  private static int check(ByteBuffer bytes) {
    CRC32C crc = new CRC32C();
    crc.update(bytes.duplicate());
    return (int) crc.getValue();
  }

  private static long padded(int length) {
    return (FRAME + (long) length + 7) & -8;
  }

  /** The records that were there when the journal was opened; forgets them. */
  List<ByteBuffer> takeRecords() {
    List<ByteBuffer> taken = List.copyOf(records);
    records.clear();
    return taken;
  }

  /** Whether this file has room for a record of this length. */
  boolean fits(int length) {
    return end + padded(length) <= capacity;
  }

  /** Whether an empty file has room for it. */
  boolean canHold(int length) {
    return PAGE + padded(length) <= capacity;
  }

  /** Makes sure that {@link #append} of a record of this length cannot fail. */
  void reserve(int length) {
    long needed = end + padded(length);
    files[current].reserve(Math.min(capacity, (needed + EXTENT - 1) / EXTENT * EXTENT));
  }

  /** Adds a record: it is valid when this returns. {@link #reserve} was called. */
  void append(ByteBuffer record) {
    write(files[current], record);
    store(files[current], end);
  }

  /** Goes on in the other file, which begins with {@code summary}. */
  void restart(ByteBuffer summary) {
    MappedFile file = files[1 - current];
    file.reserve(PAGE);
    file.memory().set(LONG, END_AT, 0);
    long before = end;
    int other = 1 - current;
    long needed = PAGE + padded(summary.remaining());
    file.reserve(Math.min(capacity, (needed + EXTENT - 1) / EXTENT * EXTENT));
    end = PAGE;
    try {
      write(file, summary);
    } catch (RuntimeException e) {
      end = before;
      throw e;
    }
    begin(other, generation + 1, end);
  }

  private void begin(int file, long number) {
    files[file].reserve(Math.min(capacity, EXTENT));
    begin(file, number, PAGE);
  }

  private void begin(int file, long number, long recordsEnd) {
    MemorySegment m = files[file].memory();
    m.set(LONG, 0, MAGIC);
    m.set(LONG, 8, VERSION);
    m.set(LONG, GENERATION_AT, number);
    current = file;
    generation = number;
    end = recordsEnd;
    store(files[file], end);
  }

  private void write(MappedFile file, ByteBuffer record) {
    MemorySegment m = file.memory();
    int length = record.remaining();
    m.set(INT, end, length);
    m.set(INT, end + 4, check(record));
    MemorySegment.copy(MemorySegment.ofBuffer(record), 0, m, end + FRAME, length);
    end += padded(length);
  }

  private void store(MappedFile file, long value) {
    // All that the record refers to was stored before, in this order.
    VarHandle.releaseFence();
    file.memory().set(LONG, END_AT, value << CHECK_BITS | check(value, generation));
  }

  @Override
  public void close() {
    for (MappedFile f : files) {
      f.close();
    }
  }
}
