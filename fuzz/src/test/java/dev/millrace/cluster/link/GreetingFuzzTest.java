package dev.millrace.cluster.link;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.fuzz.Fuzzing;
import java.io.IOException;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Greetings of any bytes are read or refused. */
class GreetingFuzzTest {
  static Stream<byte[]> seeds() {
    return Stream.of(
        new Greeting(
                Greeting.VERSION,
                new TaskIdentity("/job:ps/task:0", 7, "localhost:1"),
                new byte[2],
                new byte[1],
                "f",
                5,
                1,
                2)
            .encode());
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void decode(byte[] bytes) {
    try {
      Greeting greeting = Greeting.decode(bytes);
      greeting.encode();
    } catch (IOException e) {
      // Refused.
    }
  }
}
