package dev.millrace.train.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.proto.Event;
import dev.millrace.proto.Summary;
import dev.millrace.runtime.LocalSession;
import dev.millrace.storage.record.EventReader;
import dev.millrace.train.session.LineModel;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.sync.StalenessHook;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TaskSummaryHookTest {
  @TempDir Path folder;

  @Test
  void taskWritesItsRateAndStalenessToAFolderOfItsOwn() throws IOException {
    LineModel m = new LineModel();
    TrainingSettings settings =
        TrainingSettings.DEFAULT
            .withFolder(folder)
            .withTaskName("worker/1")
            .withSummariesEverySteps(3)
            .withHooks(new StalenessHook(m.step), StopAtStepHook.at(m.step, 10));
    try (var s = MonitoredTrainingSession.start(m.scope, LocalSession::new, settings)) {
      s.loop(m::step);
    }
    Map<String, Float> last = scalarsIn(folder.resolve("worker_1"));
    assertTrue(last.get("own_steps/sec") > 0, last.toString());
    assertEquals(0, last.get("staleness/mean"));
    assertEquals(0, last.get("staleness/late"));
    assertEquals(0, last.get("staleness/max"));
  }

  /** The last value of each scalar in the one event file of {@code run}. */
  private static Map<String, Float> scalarsIn(Path run) throws IOException {
    Path file;
    try (Stream<Path> files = Files.list(run)) {
      file = files.findFirst().orElseThrow();
    }
    Map<String, Float> last = new TreeMap<>();
    try (EventReader events = new EventReader(file)) {
      for (Optional<Event> e = events.next(); e.isPresent(); e = events.next()) {
        for (Summary.Value v : e.get().getSummary().getValueList()) {
          last.put(v.getTag(), v.getSimpleValue());
        }
      }
    }
    return last;
  }
}
