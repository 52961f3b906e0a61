package dev.millrace.storage.record;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.base.MillraceException;
import dev.millrace.fuzz.Fuzzing;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Record files of any bytes are read or refused. */
class RecordReaderFuzzTest {
  private static final Path FILE = Fuzzing.newFile("records");

  static Stream<byte[]> seeds() {
    return Stream.of(
        new byte[] {0, 1, 2, 3},
        new byte[] {3, 'a', 'b'},
        new byte[] {1, 0x1f, (byte) 0x8b, 8, 0, 0, 0, 0, 0, 0, 0});
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void read(byte[] bytes) throws IOException {
    int form = bytes.length == 0 ? 0 : bytes[0] & 3;
    byte[] rest = Fuzzing.part(bytes, 1, bytes.length);
    if (form == 3) {
      try (RecordWriter out = RecordWriter.create(FILE)) {
        out.write(rest);
        out.write(bytes);
      }
    } else {
      Files.write(FILE, rest);
    }
    RecordReader.Compression[] all = RecordReader.Compression.values();
    try (RecordReader in = RecordReader.open(FILE, all[form % all.length])) {
      while (in.next() != null) {}
    } catch (MillraceException e) {
      // Refused.
    }
  }
}
