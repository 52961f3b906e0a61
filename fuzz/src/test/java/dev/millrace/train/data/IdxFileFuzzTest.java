package dev.millrace.train.data;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.base.MillraceException;
import dev.millrace.fuzz.Fuzzing;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** IDX files of any bytes are read or refused. */
class IdxFileFuzzTest {
  static Stream<byte[]> seeds() {
    return Stream.of(
        new byte[] {0, 0, 8, 1, 0, 0, 0, 2, 1, 2},
        new byte[] {0, 0, 13, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0},
        // Almost 2^63 bytes.
        new byte[] {0, 0, 13, 2, 123, 13, 2, 0, 64, -128, 1, 0});
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void read(byte[] bytes) {
    try {
      IdxFile.read(new ByteArrayInputStream(bytes), "it").close();
    } catch (IOException | MillraceException e) {
      // Refused.
    }
  }
}
