package dev.millrace.train.job;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.proto.Event;
import dev.millrace.proto.Summary;
import dev.millrace.storage.record.EventReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ServerSummariesTest {
  @TempDir Path folder;

  @Test
  void serverWritesItsMemoryToAFolderOfItsOwn() throws IOException {
    new ServerSummaries(folder, "ps/1", Duration.ofMinutes(1)).close();
    Map<String, Integer> written = new TreeMap<>();
    try (Stream<Path> files = Files.list(folder.resolve("ps_1"));
        EventReader events = new EventReader(files.findFirst().orElseThrow())) {
      for (Optional<Event> e = events.next(); e.isPresent(); e = events.next()) {
        for (Summary.Value v : e.get().getSummary().getValueList()) {
          written.merge(v.getTag(), 1, Integer::sum);
        }
      }
    }
    // At the start and at the end.
    assertTrue(written.get("memory/tensors_mib") == 2, written.toString());
    assertTrue(written.get("memory/resident_mib") == 2, written.toString());
  }
}
