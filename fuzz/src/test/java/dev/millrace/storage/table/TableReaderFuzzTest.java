package dev.millrace.storage.table;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.base.MillraceException;
import dev.millrace.fuzz.Fuzzing;
import dev.millrace.storage.Checksum;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Tables of any bytes, and tables whose checksums are right, are read or refused. */
class TableReaderFuzzTest {
  private static final Path FILE = Fuzzing.newFile("table");

  /** Kind of the first block, its length, itself, and the index. */
  private static byte[] table(byte[] bytes) {
    int length = Math.min(bytes[1] & 0xFF, bytes.length - 2);
    byte[] data = block(Fuzzing.part(bytes, 2, 2 + length), (byte) (bytes[0] - 1));
    byte[] index = Fuzzing.part(bytes, 2 + length, bytes.length);
    ByteBuffer footer =
        ByteBuffer.allocate(TableWriter.FOOTER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    footer.put((byte) 0).put((byte) 0);
    varint(footer, data.length);
    varint(footer, index.length);
    footer.putLong(TableWriter.FOOTER_BYTES - 8, TableWriter.MAGIC);
    return Fuzzing.joined(data, block(index, TableWriter.UNCOMPRESSED), footer.array());
  }

  private static void varint(ByteBuffer to, int n) {
    int left = n;
    for (; left >= 0x80; left >>>= 7) {
      to.put((byte) (left | 0x80));
    }
    to.put((byte) left);
  }

  private static byte[] block(byte[] contents, byte kind) {
    byte[] block = Fuzzing.joined(contents, new byte[] {kind}, new byte[4]);
    ByteBuffer.wrap(block)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(contents.length + 1, Checksum.masked(block, 0, contents.length + 1));
    return block;
  }

  static Stream<byte[]> seeds() {
    return Stream.of(
        new byte[] {0, 1, 2, 3},
        new byte[] {
          1, 13, 0, 1, 1, 'a', 'b', 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 'z', 0, 13, 0, 0, 0, 0, 1, 0,
          0, 0
        });
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void scan(byte[] bytes) throws IOException {
    Files.write(FILE, bytes.length < 2 || bytes[0] == 0 ? bytes : table(bytes));
    try {
      TableReader.scan(FILE, (key, value) -> {});
    } catch (MillraceException e) {
      // Refused.
    }
  }
}
