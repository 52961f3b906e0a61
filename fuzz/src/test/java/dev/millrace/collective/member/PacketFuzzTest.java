package dev.millrace.collective.member;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.base.MillraceException;
import dev.millrace.fuzz.Fuzzing;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Packets of any bytes are read or refused. */
class PacketFuzzTest {
  static Stream<byte[]> seeds() {
    return Stream.of(new byte[] {1, 0, 0, 0, 5, 3, 0, 0, 0, 1, 'a', 5, 0, 0, 0, 1, 0, 0, 0, 9});
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void read(byte[] bytes) {
    Packet p = Packet.of(bytes);
    try {
      while (true) {
        switch (p.getByte()) {
          case 1 -> p.getInt();
          case 2 -> p.getLong();
          case 3 -> p.getString();
          case 4 -> p.getLongs();
          case 5 -> p.getInts();
          default -> p.getBytes();
        }
      }
    } catch (MillraceException e) {
      // Refused, or the end.
    }
  }
}
