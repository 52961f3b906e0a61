package dev.millrace.train.data.csv;

import dev.millrace.base.MillraceException;
import dev.millrace.train.data.file.FileRange;
import dev.millrace.train.data.file.InputFiles;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * The lines of a part of a file, as bytes. A line belongs to the part in which its first byte is.
 *
 * <p>Threading: one thread at a time.
 */
final class CsvLineReader implements AutoCloseable {
  private static final byte LINE_BREAK = '\n';
  private static final int BUFFER_BYTES = 1 << 18;
  private static final int MOST_BYTES = 1 << 28;
  private static final long ONES = 0x0101010101010101L;
  private static final long TOPS = 0x8080808080808080L;
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final FileRange range;

  /** Whether a line with an open quote goes on behind its line break. */
  private final boolean multiline;

  private InputStream in;
  private byte[] buffer = new byte[BUFFER_BYTES];

  /** Bytes read but not given are those from {@code next} to {@code limit}. */
  private int next;

  private int limit;

  /** The position of {@code next} in the decompressed file. */
  private long position;

  private int start;
  private int end;

  CsvLineReader(FileRange range, boolean multiline) {
    this.range = range;
    this.multiline = multiline;
  }

  /** Goes to the first line that begins at {@code offset} or behind it. */
  void begin(long offset) {
    go(offset == 0 ? 0 : offset - 1);
    if (offset > 0) {
      line();
    }
  }

  /** Goes to {@code offset}, at which a line begins. */
  void go(long offset) {
    close();
    try {
      in = InputFiles.open(range.file());
      in.skipNBytes(offset);
    } catch (EOFException e) {
      throw MillraceException.failedPrecondition(
          "%s ends before byte %d, where the input was when its position was saved. Give the"
              + " training the data it had, or start over in another folder.",
          range.file(), offset);
    } catch (IOException | RuntimeException e) {
      throw InputFiles.unreadable(range.file(), e);
    }
    position = offset;
    next = 0;
    limit = 0;
  }

  /** Where the next line begins. */
  long position() {
    return position;
  }

  /** The bytes that the line is in, from {@link #start} to {@link #end}. */
  byte[] bytes() {
    return buffer;
  }

  int start() {
    return start;
  }

  /** The end of the line, without its line break. */
  int end() {
    return end;
  }

  /** Takes the next line of the part; false if there is none. */
  boolean next() {
    return position < range.to() && line();
  }

  private boolean line() {
    int from = next;
    // Where quotes are no more to be counted, from the beginning of the line on.
    int counted = 0;
    boolean open = false;
    while (true) {
      int found = find(buffer, LINE_BREAK, from, limit);
      if (found < limit && multiline) {
        open ^= isOdd(buffer, next + counted, found);
        counted = found - next;
        if (open) {
          from = found + 1;
          continue; // the line break is in a quoted field
        }
      }
      if (found < limit) {
        take(found, found + 1);
        return true;
      }
      int searched = limit - next;
      if (!fill()) {
        if (next == limit) {
          return false;
        }
        take(limit, limit);
        return true;
      }
      from = next + searched;
    }
  }

  private void take(int lineEnd, int nextLine) {
    start = next;
    end = lineEnd > start && buffer[lineEnd - 1] == '\r' ? lineEnd - 1 : lineEnd;
    position += nextLine - next;
    next = nextLine;
  }

  /** Whether there is an odd number of quotes. */
  private static boolean isOdd(byte[] bytes, int from, int to) {
    boolean open = false;
    for (int i = from; i < to; i++) {
      open ^= bytes[i] == '"';
    }
    return open;
  }

  /** The first {@code wanted} from {@code from} on, eight bytes at a time; {@code to} if none. */
  static int find(byte[] bytes, byte wanted, int from, int to) {
    long pattern = wanted * ONES; // an ASCII character
    int i = from;
    for (; i + Long.BYTES <= to; i += Long.BYTES) {
      long x = (long) LONG.get(bytes, i) ^ pattern;
      long zero = (x - ONES) & ~x & TOPS;
      if (zero != 0) {
        return i + (Long.numberOfTrailingZeros(zero) >>> 3);
      }
    }
    while (i < to && bytes[i] != wanted) {
      i++;
    }
    return i;
  }

  /** Reads more behind what is there, which moves to the front; false at the end of the file. */
  private boolean fill() {
    if (next > 0) {
      System.arraycopy(buffer, next, buffer, 0, limit - next);
      limit -= next;
      next = 0;
    }
    if (limit == buffer.length) {
      if (limit >= MOST_BYTES) {
        throw MillraceException.invalid(
            "%s has a line of more than %d MiB at byte %d. Is it a CSV file, and are its quotes"
                + " closed?",
            range.file(), MOST_BYTES >> 20, position);
      }
      buffer = Arrays.copyOf(buffer, 2 * limit);
    }
    try {
      int n = in.read(buffer, limit, buffer.length - limit);
      limit += Math.max(n, 0);
      return n >= 0;
    } catch (IOException | RuntimeException e) {
      throw InputFiles.unreadable(range.file(), e);
    }
  }

  /** The number of the line that begins at {@code offset}, counted from 1; reads the file again. */
  long number(long offset) {
    try (InputStream again = InputFiles.open(range.file())) {
      byte[] bytes = new byte[BUFFER_BYTES];
      long line = 1;
      for (long left = offset; left > 0; ) {
        int n = again.read(bytes, 0, (int) Math.min(bytes.length, left));
        if (n < 0) {
          break;
        }
        for (int i = find(bytes, LINE_BREAK, 0, n); i < n; i = find(bytes, LINE_BREAK, i + 1, n)) {
          line++;
        }
        left -= n;
      }
      return line;
    } catch (IOException e) {
      throw InputFiles.unreadable(range.file(), e);
    }
  }

  @Override
  public void close() {
    if (in != null) {
      try {
        in.close();
      } catch (IOException e) {
        throw InputFiles.unreadable(range.file(), e);
      } finally {
        in = null;
      }
    }
  }
}
