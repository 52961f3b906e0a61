package dev.millrace.cluster.link;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Platform;
import dev.millrace.fuzz.ArrivedBytes;
import dev.millrace.fuzz.Fuzzing;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Frames of any bytes are read or refused. */
class LinkInputFuzzTest {
  static Stream<byte[]> seeds() {
    return Stream.of(
        new byte[] {3, 0, 0, 0, 0},
        new byte[] {4, 2, 0, 0, 0, 0, 0},
        new byte[] {4, LinkOutput.INLINE, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4},
        new byte[] {4, LinkOutput.MESSAGE, 2, 0, 0, 0, 8, 1},
        new byte[] {2, 2, 0, 0, 0, 65, 66},
        // A dimension whose bytes cannot be counted.
        new byte[] {4, LinkOutput.INLINE, 1, 1, -69, 2, 2, 0, 0, 0, 65, 66, 1, 2, 3, 4});
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void read(byte[] bytes) {
    try (ArrivedBytes arrived = new ArrivedBytes(bytes)) {
      LinkInput in = new LinkInput(arrived.socket(), Platform.system().timers());
      while (true) {
        switch (in.getByte() % 5) {
          case 0 -> in.getInt();
          case 1 -> in.getLong();
          case 2 -> in.getString();
          case 3 -> in.getCount();
          default -> {
            Tensor t = in.getTensor();
            if (t != null) {
              Refs.release(t);
            }
          }
        }
      }
    } catch (IOException | MillraceException e) {
      // Refused, or the end of the stream.
    }
  }
}
