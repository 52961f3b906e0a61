package dev.millrace.train.hook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.ops.array.Const;
import dev.millrace.proto.Event;
import dev.millrace.proto.Summary;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.storage.record.EventReader;
import dev.millrace.storage.record.EventWriter;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GraphSummaries;
import dev.millrace.train.session.LineModel;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.variable.Variables;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class HooksTest {
  @TempDir Path folder;

  private final LineModel model = new LineModel();

  /** Trains to step {@code last}, feeding only what the hooks feed unless {@code fed}. */
  private void train(long last, boolean fed, SessionRunHook... hooks) {
    TrainingSettings settings =
        TrainingSettings.DEFAULT
            .withLogEverySteps(0)
            .withHooks(hooks)
            .withHooks(StopAtStepHook.at(model.step, last));
    try (var s = MonitoredTrainingSession.start(model.scope, LocalSession::new, settings)) {
      s.loop(t -> t.run(fed ? model.batch(1, 2) : Map.of(), model.train));
    }
  }

  @Test
  void valuesAreLoggedOnScheduleUnderTheirNames() {
    List<String> lines = new ArrayList<>();
    SequencedMap<String, Output> values = new LinkedHashMap<>();
    values.put("w", model.w.read());
    values.put("loss", model.loss);
    train(7, true, new LoggingTensorHook(values, Schedule.everySteps(3), lines::add));
    assertEquals(3, lines.size(), lines.toString());
    assertTrue(lines.getFirst().matches("w = .*, loss = .*22\\.5.*"), lines.getFirst());
  }

  @Test
  void stepsAreFedByAFunctionAskedOncePerStep() {
    List<Tensor> given = new ArrayList<>();
    train(
        4,
        false,
        new FeedFnHook(
            () -> {
              given.add(Tensor.vector(1f, 2f));
              return Map.of(model.x, given.getLast());
            }));
    assertEquals(4, given.size());
  }

  @Test
  void twoFeedsForOneInputAreRefused() {
    MillraceException e =
        assertThrows(
            MillraceException.class, () -> train(4, true, new FeedFnHook(() -> model.batch(1, 2))));
    assertTrue(e.getMessage().contains("Two feeds were given for 'x:0'"), e.getMessage());
  }

  @Test
  void lastOpsSeeTheTrainedModel() {
    FinalOpsHook last = new FinalOpsHook(List.of(model.loss, model.step.read()), model.batch(1));
    train(20, true, last);
    assertEquals(20, last.values().get(1).longValue());
    assertTrue(last.values().getFirst().floatValue() < 1e-3, last.values().toString());
  }

  @Test
  void rateAndSummariesAreWrittenOnSchedule() {
    Output summary = GraphSummaries.scalar(model.scope, "loss_seen", model.loss);
    List<Long> summarised = new ArrayList<>();
    List<Long> rated = new ArrayList<>();
    Path file;
    StepCounterHook counter;
    try (EventWriter events = new EventWriter(folder)) {
      file = events.file();
      counter = new StepCounterHook(model.step, 4, events);
      train(
          10,
          true,
          counter,
          new SummarySaverHook(model.step, summary, Schedule.everySteps(5), events));
    }
    try (EventReader events = new EventReader(file)) {
      for (Optional<Event> e = events.next(); e.isPresent(); e = events.next()) {
        for (Summary.Value v : e.get().getSummary().getValueList()) {
          (v.getTag().equals("loss_seen") ? summarised : rated).add(e.get().getStep());
        }
      }
    }
    assertEquals(2, rated.size(), rated.toString());
    assertEquals(4, rated.getLast() - rated.getFirst());
    assertEquals(2, summarised.size(), summarised.toString());
    assertEquals(5, summarised.getLast() - summarised.getFirst());
    assertTrue(counter.stepsPerSecond() > 0);
  }

  @Test
  void taskBeginsWhenTheOthersHaveReachedItsStep() throws Exception {
    Node others = model.step.assignAdd(model.scope, Const.of(model.scope, 1L));
    try (Session s = new LocalSession(model.graph)) {
      s.run(Variables.initializer(model.scope));
      GlobalStepWaiterHook impatient =
          new GlobalStepWaiterHook(model.step, 3, Duration.ofMillis(1));
      MillraceException e =
          assertThrows(
              MillraceException.class, () -> impatient.afterCreateSession(s, new Coordinator()));
      assertEquals(Code.DEADLINE_EXCEEDED, e.code());
      assertTrue(e.getMessage().contains("begins at step 3, but the others are at 0"));
      GlobalStepWaiterHook waiter = new GlobalStepWaiterHook(model.step, 3, Duration.ofSeconds(30));
      CompletableFuture<Void> waiting =
          CompletableFuture.runAsync(() -> waiter.afterCreateSession(s, new Coordinator()));
      s.run(others);
      assertFalse(waiting.isDone(), "it does not wait for step 3");
      s.run(others);
      s.run(others);
      waiting.get(30, TimeUnit.SECONDS);
    }
  }
}
