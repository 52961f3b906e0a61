package dev.millrace.ops.dataset;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.ops.io.FileNames;
import dev.millrace.ops.io.WholeFiles;
import dev.millrace.storage.record.RecordReader;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.GZIPInputStream;
import java.util.zip.InflaterInputStream;

/** Datasets of what files hold, one file after the other: each element is one string. */
final class FileRecords extends DatasetValue {
  private static final int BUFFER_BYTES = 256 << 10;

  static final List<Op> ALL =
      List.of(
          giving(
              files("TextLineDataset")
                  .input("compression_type: string")
                  .input("buffer_size: int64"),
              c -> new FileRecords(c, lines(c))),
          giving(
              files("TFRecordDataset")
                  .input("compression_type: string")
                  .input("buffer_size: int64"),
              c -> new FileRecords(c, records(c))),
          giving(
              fixedLength().input("compression_type: string"),
              c -> new FileRecords(c, blocks(c, Compression.of(text(c, 5))))));

  private static Op.Builder files(String name) {
    return Op.define(name).attr("metadata: string = ''").input("filenames: string").stateful();
  }

  private static Op.Builder fixedLength() {
    return files("FixedLengthRecordDatasetV2")
        .input("header_bytes: int64")
        .input("record_bytes: int64")
        .input("footer_bytes: int64")
        .input("buffer_size: int64");
  }

  /** How a file is compressed as a whole. */
  private enum Compression {
    NONE,
    GZIP,
    ZLIB;

    static Compression of(String name) {
      return switch (name) {
        case "" -> NONE;
        case "GZIP" -> GZIP;
        case "ZLIB" -> ZLIB;
        default -> throw MillraceException.invalid("Unsupported compression_type.");
      };
    }

    InputStream open(Path file) throws IOException {
      InputStream raw = Files.newInputStream(file);
      try {
        return switch (this) {
          case NONE -> new BufferedInputStream(raw, BUFFER_BYTES);
          case GZIP -> new BufferedInputStream(new GZIPInputStream(raw, BUFFER_BYTES));
          case ZLIB -> new BufferedInputStream(new InflaterInputStream(raw));
        };
      } catch (IOException e) {
        raw.close();
        throw e;
      }
    }
  }

  /** Reads the records of one file. */
  private interface Records extends Closeable {
    /** The next record, or null at the end. */
    byte[] next() throws IOException;
  }

  @FunctionalInterface
  private interface Opener {
    Records open(String name, Path file) throws IOException;
  }

  private final Tensor names;
  private final Opener opener;

  private FileRecords(KernelContext c, Opener opener) {
    if (c.input(0).shape().rank() > 1) {
      throw MillraceException.invalid("`filenames` must be a scalar or a vector.");
    }
    super(List.of(DType.STRING), List.of(Shape.scalar()));
    this.opener = opener;
    names = hold(c.input(0));
  }

  @Override
  long cardinality() {
    return UNKNOWN;
  }

  @Override
  DatasetElements elements(Iteration iteration) {
    return new DatasetElements() {
      private Records current;
      private Path file;
      private int at;

      @Override
      Tensor[] next(Cancellation c) {
        while (true) {
          c.check();
          try {
            if (current == null) {
              if (at >= names.elements()) {
                return null;
              }
              String name = names.stringAt(at++);
              file = FileNames.path(name);
              current = opener.open(name, file);
            }
            byte[] record = current.next();
            if (record != null) {
              return new Tensor[] {
                Refs.ofObjects(DType.STRING, Shape.scalar(), new Object[] {record})
              };
            }
            close();
          } catch (IOException e) {
            close();
            throw WholeFiles.failure("read", file, e);
          } catch (MillraceException e) {
            close();
            throw e;
          }
        }
      }

      @Override
      public void close() {
        Records before = current;
        current = null;
        if (before != null) {
          try {
            before.close();
          } catch (IOException e) {
            throw WholeFiles.failure("close", file, e);
          }
        }
      }
    };
  }

  private static Opener lines(KernelContext c) {
    Compression compression = Compression.of(text(c, 1));
    return (name, file) -> {
      InputStream in = compression.open(file);
      return new Records() {
        @Override
        public byte[] next() throws IOException {
          int b = in.read();
          if (b < 0) {
            return null;
          }
          ByteArrayOutputStream line = new ByteArrayOutputStream();
          for (; b >= 0 && b != '\n'; b = in.read()) {
            if (b != '\r') {
              line.write(b);
            }
          }
          return line.toByteArray();
        }

        @Override
        public void close() throws IOException {
          in.close();
        }
      };
    };
  }

  private static Opener records(KernelContext c) {
    RecordReader.Compression compression =
        RecordReader.Compression.valueOf(Compression.of(text(c, 1)).name());
    return (name, file) -> {
      RecordReader in = RecordReader.open(file, compression);
      return new Records() {
        @Override
        public byte[] next() {
          return in.next();
        }

        @Override
        public void close() {
          in.close();
        }
      };
    };
  }

  private static Opener blocks(KernelContext c, Compression compression) {
    long header = number(c, 1);
    long length = number(c, 2);
    long footer = number(c, 3);
    if (header < 0) {
      throw MillraceException.invalid("`header_bytes` must be >= 0");
    }
    if (length <= 0 || length > Integer.MAX_VALUE - 64) {
      throw MillraceException.invalid("`record_bytes` must be > 0 and fit an array");
    }
    if (footer < 0 || footer > Integer.MAX_VALUE - 64 - length) {
      throw MillraceException.invalid("`footer_bytes` must be >= 0");
    }
    return (name, file) -> {
      if (compression == Compression.NONE) {
        long body = Files.size(file) - header - footer;
        if (body < 0 || body % length != 0) {
          throw MillraceException.invalid(
              "Excluding the header (%d bytes) and footer (%d bytes), input file \"%s\" has body"
                  + " length %d bytes, which is not an exact multiple of the record length (%d"
                  + " bytes).",
              header, footer, name, body, length);
        }
      }
      return new Blocks(compression.open(file), name, header, (int) length, (int) footer);
    };
  }

  /** Records of equal length between a header and a footer. */
  private static final class Blocks implements Records {
    private final InputStream in;
    private final String name;
    private final int length;
    private final int footer;

    /** What has been read but may belong to the footer. */
    private byte[] ahead;

    Blocks(InputStream in, String name, long header, int length, int footer) throws IOException {
      this.in = in;
      this.name = name;
      this.length = length;
      this.footer = footer;
      in.skipNBytes(header);
      ahead = in.readNBytes(footer);
    }

    @Override
    public byte[] next() throws IOException {
      byte[] more = in.readNBytes(length);
      if (more.length == 0) {
        return null;
      }
      if (more.length < length || ahead.length < footer) {
        throw MillraceException.invalid(
            "The body of input file \"%s\" is not an exact multiple of the record length (%d"
                + " bytes).",
            name, length);
      }
      byte[] both = new byte[footer + length];
      System.arraycopy(ahead, 0, both, 0, footer);
      System.arraycopy(more, 0, both, footer, length);
      ahead = java.util.Arrays.copyOfRange(both, length, both.length);
      return java.util.Arrays.copyOf(both, length);
    }

    @Override
    public void close() throws IOException {
      in.close();
    }
  }
}
