package dev.millrace.collective.member;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.fuzz.ArrivedBytes;
import dev.millrace.fuzz.Fuzzing;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Any bytes of a caller or a host are refused: they do not prove the token. */
class HandshakeFuzzTest {
  private static final Token TOKEN = Token.random();

  static Stream<byte[]> seeds() {
    return Stream.of(new byte[] {0}, new byte[80], new byte[81]);
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void shake(byte[] bytes) {
    Platform platform = Platform.system();
    long end = platform.timers().now() + TimeUnit.SECONDS.toNanos(20);
    try (ArrivedBytes arrived = new ArrivedBytes(bytes)) {
      if (bytes.length % 2 == 0) {
        Handshake.answer(arrived.socket(), TOKEN, platform, end);
      } else {
        Handshake.call(
            arrived.socket(),
            TOKEN,
            new Handshake.Hello(Handshake.Purpose.DATA, 1, 2),
            platform,
            end);
      }
    } catch (IOException | MillraceException e) {
      return;
    }
    throw new AssertionError("A peer that does not know the token was accepted");
  }
}
