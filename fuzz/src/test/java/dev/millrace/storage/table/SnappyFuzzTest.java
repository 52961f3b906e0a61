package dev.millrace.storage.table;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.fuzz.Fuzzing;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Blocks of any bytes are decompressed or refused. */
class SnappyFuzzTest {
  static Stream<byte[]> seeds() {
    return Stream.of(
        new byte[] {0},
        new byte[] {7, 2 << 2, 'a', 'b', 'c', 1, 3},
        new byte[] {3, (byte) (60 << 2), 2, 'a', 'b', 'c'});
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void decompress(byte[] bytes) {
    try {
      byte[] _ = Snappy.decompress(bytes);
    } catch (Snappy.MalformedException e) {
      // Refused.
    }
  }
}
