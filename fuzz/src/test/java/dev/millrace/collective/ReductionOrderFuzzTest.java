package dev.millrace.collective;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.base.MillraceException;
import dev.millrace.collective.member.Packet;
import dev.millrace.fuzz.Fuzzing;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Orders of any bytes are read or refused. */
class ReductionOrderFuzzTest {
  static Stream<byte[]> seeds() {
    return Stream.of(
        new byte[] {2, 0, 0, 0, 1},
        new byte[] {3, 0, 0, 0, 1, 'a'},
        new byte[] {1, 0, 0, 0, 0, 0, 0, 0, 1, 'k', 0, 0, 0, 3, 0, 0, 0, 1, 'm'},
        new byte[40],
        // A kind of operation that does not exist.
        new byte[] {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, 3, 0, 'e', 0, 3});
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void unpack(byte[] bytes) {
    try {
      ReductionOrder.unpack(Packet.of(bytes));
    } catch (MillraceException e) {
      // Refused.
    }
  }
}
