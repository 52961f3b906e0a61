package dev.millrace.cluster.spec;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.base.MillraceException;
import dev.millrace.fuzz.Fuzzing;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Any text in TF_CONFIG is understood or refused. */
class TfConfigFuzzTest {
  static Stream<byte[]> seeds() {
    return Stream.of(
        "{\"cluster\": {\"ps\": [\"a:1\"], \"worker\": {\"1\": \"b:2\"}}, \"task\": {\"type\": \"ps\", \"index\": 0}}"
            .getBytes(StandardCharsets.UTF_8));
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void parse(byte[] bytes) {
    try {
      TfConfig.parse(new String(bytes, StandardCharsets.UTF_8));
    } catch (MillraceException e) {
      // Refused.
    }
  }
}
