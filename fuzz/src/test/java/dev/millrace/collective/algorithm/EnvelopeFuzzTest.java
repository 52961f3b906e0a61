package dev.millrace.collective.algorithm;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.base.MillraceException;
import dev.millrace.fuzz.Fuzzing;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** An envelope of any bytes has a text. */
class EnvelopeFuzzTest {
  static Stream<byte[]> seeds() {
    return Stream.of(new byte[] {1, 0, 0, 0, 0, 16, -16, 15, 8});
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void read(byte[] bytes) {
    Envelope e =
        Envelope.read(MemorySegment.ofArray(Arrays.copyOf(bytes, (int) Envelope.BYTES)), 0);
    MillraceException _ = e.mismatch(0, e, 1);
  }
}
