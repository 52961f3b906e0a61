package dev.millrace.parquet;

import dev.millrace.base.MillraceException;
import io.airlift.compress.v3.Decompressor;
import io.airlift.compress.v3.lz4.Lz4Decompressor;
import io.airlift.compress.v3.snappy.SnappyDecompressor;
import io.airlift.compress.v3.zstd.ZstdDecompressor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.GZIPInputStream;
import org.apache.parquet.format.CompressionCodec;

/** Decompresses pages. */
final class PageCodec {
  /** Pages have about a megabyte; a larger size than this is damage. */
  private static final int MOST_BYTES = 1 << 28;

  /** What a byte of a compressed page can stand for at most: zstd's and DEFLATE's run lengths. */
  private static final long MOST_RATIO = 1 << 17;

  private PageCodec() {}

  /** Decompresses a part of {@code bytes} to {@code size} bytes, with padding behind them. */
  static BitReader decompress(
      CompressionCodec codec, byte[] bytes, int from, int length, int size) {
    if (size < 0 || size > MOST_BYTES || size > MOST_RATIO * Math.max(length, 1)) {
      throw new IndexOutOfBoundsException("a page of " + size + " bytes");
    }
    byte[] to = new byte[size + BitReader.PADDING];
    int n =
        switch (codec) {
          case UNCOMPRESSED -> {
            System.arraycopy(bytes, from, to, 0, Math.min(size, length));
            yield length;
          }
          case GZIP -> inflate(bytes, from, length, to, size);
          default ->
              length == 0 && size == 0 ? 0 : of(codec).decompress(bytes, from, length, to, 0, size);
        };
    if (n != size) {
      throw new IndexOutOfBoundsException(n + " bytes of " + size);
    }
    return new BitReader(to, 0, size);
  }

  /** A part of {@code bytes} that is not compressed, with padding behind it. */
  static BitReader copy(byte[] bytes, int from, int length) {
    return decompress(CompressionCodec.UNCOMPRESSED, bytes, from, length, length);
  }

  private static Decompressor of(CompressionCodec codec) {
    return switch (codec) {
      case SNAPPY -> SnappyDecompressor.create();
      case ZSTD -> ZstdDecompressor.create();
      case LZ4_RAW -> Lz4Decompressor.create();
      default ->
          throw MillraceException.invalid(
              ": it is compressed with %s, which is not read. Write the file with snappy, gzip,"
                  + " zstd or lz4_raw.",
              codec);
    };
  }

  private static int inflate(byte[] bytes, int from, int length, byte[] to, int size) {
    try (InputStream in = new GZIPInputStream(new ByteArrayInputStream(bytes, from, length))) {
      return in.readNBytes(to, 0, size);
    } catch (IOException e) {
      throw new IndexOutOfBoundsException(e.toString());
    }
  }
}
