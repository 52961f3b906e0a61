package dev.millrace.collective.member;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.fuzz.ArrivedBytes;
import dev.millrace.fuzz.Fuzzing;
import java.io.IOException;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Control messages of any bytes are handed over or refused. */
class FrameChannelFuzzTest {
  static Stream<byte[]> seeds() {
    return Stream.of(new byte[] {0, 0, 0, 2, 1, 'a', 'b', 0, 0, 0, 0, 2});
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void receive(byte[] bytes) {
    try (ArrivedBytes arrived = new ArrivedBytes(bytes);
        FrameChannel frames = new FrameChannel(arrived.socket())) {
      arrived.socket().configureBlocking(false);
      while (true) {
        frames.receive((type, contents) -> {});
      }
    } catch (IOException e) {
      // Refused, or the end of the stream.
    }
  }
}
