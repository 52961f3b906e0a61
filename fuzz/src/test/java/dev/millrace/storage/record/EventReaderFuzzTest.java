package dev.millrace.storage.record;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.base.MillraceException;
import dev.millrace.fuzz.Fuzzing;
import dev.millrace.proto.Event;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Records of any bytes are read as events or refused. */
class EventReaderFuzzTest {
  private static final Path FILE = Fuzzing.newFile("events");

  static Stream<byte[]> seeds() {
    return Stream.of(
        Event.newBuilder().setFileVersion("brain.Event:2").setWallTime(1).build().toByteArray());
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void read(byte[] bytes) {
    try (RecordWriter out = RecordWriter.create(FILE)) {
      out.write(bytes);
    }
    try (EventReader in = new EventReader(FILE)) {
      while (in.next().isPresent()) {}
    } catch (MillraceException e) {
      // Refused.
    }
  }
}
