package dev.millrace.train.hook;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.runtime.LocalSession;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.train.session.LineModel;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProfilerHookTest {
  @TempDir Path folder;

  @Test
  void traceOfAStepHasTheNodesOfEveryTask() throws Exception {
    try (SmallCluster cluster = new SmallCluster(2, 1)) {
      LineModel m = new LineModel(cluster.placementOf(0), new GradientDescent(.01f));
      TrainingSettings settings =
          TrainingSettings.DEFAULT
              .withLogEverySteps(0)
              .withMaxWait(Duration.ofSeconds(60))
              .withHooks(new ProfilerHook(m.step, Schedule.never(), folder));
      try (var s = MonitoredTrainingSession.start(m.scope, cluster.sessionsOf(0), settings)) {
        m.step(s);
        m.step(s);
      }
    }
    String trace = Files.readString(folder.resolve("timeline-1.json"));
    for (String task : new String[] {"ps/replica:0/task:0", "ps/replica:0/task:1", "worker"}) {
      assertTrue(trace.contains("{\"name\":\"/job:" + task), trace);
    }
    assertTrue(trace.contains("\"name\":\"ApplyGradientDescent\""), trace);
  }

  @Test
  void timelineThatCannotBeWrittenEndsTraining() throws IOException {
    LineModel m = new LineModel();
    Path file = Files.createFile(folder.resolve("file"));
    TrainingSettings settings =
        TrainingSettings.DEFAULT
            .withLogEverySteps(0)
            .withHooks(new ProfilerHook(m.step, Schedule.never(), file.resolve("folder")));
    try (var s = MonitoredTrainingSession.start(m.scope, LocalSession::new, settings)) {
      MillraceException e = assertThrows(MillraceException.class, () -> m.step(s));
      assertTrue(e.getMessage().startsWith("Cannot write " + file), e.getMessage());
    }
  }
}
