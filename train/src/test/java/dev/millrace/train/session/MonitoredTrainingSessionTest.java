package dev.millrace.train.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.ops.array.Const;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.checkpoint.CheckpointFolder;
import dev.millrace.train.hook.Coordinator;
import dev.millrace.train.hook.NanTensorHook;
import dev.millrace.train.hook.SessionFactory;
import dev.millrace.train.hook.SessionRunArgs;
import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SessionRunValues;
import dev.millrace.train.hook.StopAtStepHook;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MonitoredTrainingSessionTest {
  @TempDir Path folder;

  private static final TrainingSettings QUIET =
      TrainingSettings.DEFAULT.withLogEverySteps(0).withMaxWait(Duration.ofSeconds(20));

  /** Notes the calls it gets. */
  private static final class Recorder implements SessionRunHook {
    final List<String> calls = new ArrayList<>();

    @Override
    public void begin() {
      calls.add("begin");
    }

    @Override
    public void afterCreateSession(Session session, Coordinator coordinator) {
      calls.add("created");
    }

    @Override
    public SessionRunArgs beforeRun(SessionRunContext context) {
      calls.add("before");
      return SessionRunArgs.NONE;
    }

    @Override
    public void afterRun(SessionRunContext context, SessionRunValues values) {
      calls.add("after");
    }

    @Override
    public void end(Session session) {
      calls.add("end");
    }
  }

  @Test
  void hooksAreCalledInTheirOrder() {
    LineModel m = new LineModel();
    Recorder recorder = new Recorder();
    TrainingSettings settings = QUIET.withHooks(StopAtStepHook.at(m.step, 2), recorder);
    try (var s = MonitoredTrainingSession.start(m.scope, LocalSession::new, settings)) {
      s.loop(m::step);
      assertEquals(2, m.stepOf(s.raw()));
    }
    assertEquals(
        List.of("begin", "created", "before", "after", "before", "after", "end"), recorder.calls);
  }

  @Test
  void runningAfterTheEndSaysSo() {
    LineModel m = new LineModel();
    try (var s = MonitoredTrainingSession.start(m.scope, LocalSession::new, QUIET)) {
      m.step(s);
      s.requestStop();
      assertTrue(s.shouldStop());
      MillraceException e = assertThrows(MillraceException.class, () -> m.step(s));
      assertEquals(Code.FAILED_PRECONDITION, e.code());
      assertTrue(e.getMessage().startsWith("A step was run after training ended"));
    }
  }

  @Test
  void stepPreparedBeforeAnotherThreadRequestedTheStopStillRuns() {
    LineModel m = new LineModel();
    try (var s = MonitoredTrainingSession.start(m.scope, LocalSession::new, QUIET)) {
      s.loop(
          t -> {
            Thread signal = new Thread(t::requestStop);
            signal.start();
            join(signal);
            m.step(t);
          });
      assertEquals(1, m.stepOf(s.raw()));
      assertThrows(MillraceException.class, () -> m.step(s));
    }
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void trainingGoesOnWhereItWasSaved() {
    double[] losses = new double[6];
    LineModel once = new LineModel();
    try (var s = MonitoredTrainingSession.start(once.scope, LocalSession::new, QUIET)) {
      for (int i = 0; i < 6; i++) {
        losses[i] = loss(once, s);
      }
    }
    for (int part = 0; part < 2; part++) {
      LineModel m = new LineModel();
      TrainingSettings settings =
          QUIET.withFolder(folder).withHooks(StopAtStepHook.after(m.step, 3));
      int from = 3 * part;
      try (var s = MonitoredTrainingSession.start(m.scope, LocalSession::new, settings)) {
        for (int i = from; !s.shouldStop(); i++) {
          assertEquals(losses[i], loss(m, s), 1e-6, "step " + i);
        }
        assertEquals(from + 3, m.stepOf(s.raw()));
      }
    }
    assertEquals(folder.resolve("model.ckpt-6"), CheckpointFolder.latest(folder).orElseThrow());
    assertTrue(Files.exists(folder.resolve("graph.pbtxt")));
  }

  private static double loss(LineModel m, MonitoredTrainingSession s) {
    return s.run(m.batch(1, 2), List.of(m.loss), List.of(m.train)).getFirst().doubleValue();
  }

  /** Sessions of which one fails at a given step as if a task had been lost. */
  private static SessionFactory losing(int failAt, Code code) {
    return losing(run -> run == failAt, code);
  }

  /** Sessions that fail in those of their training steps, counted over all of them. */
  private static SessionFactory losing(IntPredicate failing, Code code) {
    int[] runs = {0};
    return graph -> {
      LocalSession real = new LocalSession(graph);
      return new Session() {
        @Override
        public List<Tensor> run(
            Map<Output, Tensor> feeds, List<Output> fetches, List<Node> targets, RunOptions o) {
          if (!feeds.isEmpty() && !targets.isEmpty() && failing.test(++runs[0])) {
            throw new MillraceException(code, "ps/0 was lost");
          }
          return real.run(feeds, fetches, targets, o);
        }

        @Override
        public Callable makeCallable(List<Output> feeds, List<Output> fetches, List<Node> targets) {
          return real.makeCallable(feeds, fetches, targets);
        }

        @Override
        public void close() {
          real.close();
        }
      };
    };
  }

  // README claim: run-recover
  @Test
  void lostTaskSetsTrainingBackToTheLastCheckpoint() {
    for (Code code : List.of(Code.UNAVAILABLE, Code.ABORTED)) {
      LineModel m = new LineModel();
      Recorder recorder = new Recorder();
      Path here = folder.resolve(code.name());
      TrainingSettings settings =
          QUIET
              .withFolder(here)
              .withSaveEverySteps(2)
              .withHooks(recorder, StopAtStepHook.at(m.step, 6));
      int steps = 0;
      // The training steps and the restore are the runs that count: fails in the fourth step.
      try (var s = MonitoredTrainingSession.start(m.scope, losing(4, code), settings)) {
        while (!s.shouldStop()) {
          m.step(s);
          steps++;
        }
        assertEquals(6, m.stepOf(s.raw()));
      }
      assertEquals(2, recorder.calls.stream().filter("created"::equals).count());
      // Saved at step 2; the third is made again, as its variables went with the session.
      assertEquals(7, steps, code.name());
    }
  }

  @Test
  void stepThatLosesTasksAgainAndAgainEndsTraining() {
    LineModel m = new LineModel();
    SessionFactory failing = losing(run -> true, Code.ABORTED);
    TrainingSettings settings = QUIET.withMaxWait(Duration.ofSeconds(3));
    try (var s = MonitoredTrainingSession.start(m.scope, failing, settings)) {
      MillraceException e = assertThrows(MillraceException.class, () -> m.step(s));
      assertEquals(Code.ABORTED, e.code());
      assertTrue(
          e.getMessage().matches("The step loses tasks again and again.*ps/0 was lost"),
          e.getMessage());
      assertTrue(s.shouldStop());
    }
  }

  @Test
  void lossEndsTrainingAtOnceWhereTasksCannotComeBack() {
    LineModel m = new LineModel();
    int[] opened = {0};
    SessionFactory failing = losing(run -> true, Code.UNAVAILABLE);
    SessionFactory counted =
        graph -> {
          opened[0]++;
          return failing.open(graph);
        };
    try (var s = MonitoredTrainingSession.start(m.scope, counted, QUIET.withRecovery(false))) {
      MillraceException e = assertThrows(MillraceException.class, () -> m.step(s));
      assertEquals(Code.UNAVAILABLE, e.code());
      assertTrue(
          e.getMessage().startsWith("Training ends: a task was lost and cannot rejoin."),
          e.getMessage());
      assertTrue(e.getMessage().contains("ps/0 was lost"), e.getMessage());
    }
    assertEquals(1, opened[0], "sessions made");
  }

  /** A hook that loses a task in each of the first sessions. */
  @Test
  void sessionsThatFailAtOnceAreMadeAgainAfterAPause() {
    LineModel m = new LineModel();
    List<Long> created = new ArrayList<>();
    SessionRunHook losing =
        new SessionRunHook() {
          @Override
          public void afterCreateSession(Session session, Coordinator coordinator) {
            created.add(System.nanoTime());
            if (created.size() < 5) {
              throw new MillraceException(Code.UNAVAILABLE, "ps/0 was lost");
            }
          }
        };
    try (var s =
        MonitoredTrainingSession.start(m.scope, LocalSession::new, QUIET.withHooks(losing))) {
      m.step(s);
    }
    assertEquals(5, created.size());
    // Each pause is at least half of 50, 100, 200 and 400 ms.
    long all = created.getLast() - created.getFirst();
    assertTrue(all >= 375_000_000L, "5 sessions were made within " + all / 1_000_000 + " ms");
  }

  // README claim: hang-limit
  @Test
  void stepThatTakesTooLongSaysWhatItWaitsFor() {
    LineModel m = new LineModel();
    SessionRunHook waiting =
        new SessionRunHook() {
          @Override
          public String waitsFor() {
            return "the gradients of worker/1";
          }
        };
    SessionFactory slow =
        graph -> {
          LocalSession real = new LocalSession(graph);
          return new Session() {
            @Override
            public List<Tensor> run(
                Map<Output, Tensor> feeds, List<Output> fetches, List<Node> targets, RunOptions o) {
              if (!feeds.isEmpty()) {
                assertEquals(Duration.ofSeconds(7), o.timeout());
                throw new MillraceException(Code.DEADLINE_EXCEEDED, "Timed out.");
              }
              return real.run(feeds, fetches, targets, o);
            }

            @Override
            public Callable makeCallable(
                List<Output> feeds, List<Output> fetches, List<Node> targets) {
              return real.makeCallable(feeds, fetches, targets);
            }

            @Override
            public void close() {
              real.close();
            }
          };
        };
    assertEquals(Duration.ofMinutes(10), TrainingSettings.DEFAULT.stepTimeout());
    TrainingSettings settings = QUIET.withStepTimeout(Duration.ofSeconds(7)).withHooks(waiting);
    try (var s = MonitoredTrainingSession.start(m.scope, slow, settings)) {
      MillraceException e = assertThrows(MillraceException.class, () -> m.step(s));
      assertEquals(Code.DEADLINE_EXCEEDED, e.code());
      assertTrue(e.getMessage().contains("The step timeout is 7 s"), e.getMessage());
      assertTrue(e.getMessage().contains("It waits for the gradients of worker/1"), e.getMessage());
    }
  }

  @Test
  void otherFailuresEndTrainingWithoutASave() {
    LineModel m = new LineModel();
    Recorder recorder = new Recorder();
    TrainingSettings settings = QUIET.withFolder(folder).withHooks(recorder);
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () -> {
              try (var s =
                  MonitoredTrainingSession.start(
                      m.scope, losing(3, Code.INVALID_ARGUMENT), settings)) {
                s.loop(m::step);
              }
            });
    assertEquals("ps/0 was lost", e.getMessage());
    assertFalse(recorder.calls.contains("end"));
    assertEquals(folder.resolve("model.ckpt-0"), CheckpointFolder.latest(folder).orElseThrow());
  }

  @Test
  void nanLossEndsTrainingBeforeItIsSaved() {
    LineModel m = new LineModel();
    TrainingSettings settings =
        QUIET.withFolder(folder).withSaveEverySteps(1).withHooks(new NanTensorHook(m.loss));
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () -> {
              try (var s = MonitoredTrainingSession.start(m.scope, LocalSession::new, settings)) {
                s.loop(t -> t.run(m.batch(Float.NaN), List.of(), List.of(m.train)));
              }
            });
    assertTrue(e.getMessage().contains("is NaN in step 1 of this task"), e.getMessage());
    assertEquals(folder.resolve("model.ckpt-0"), CheckpointFolder.latest(folder).orElseThrow());
  }

  /** As another worker may do, which has not seen its own loss yet. */
  @Test
  void modelThatAnotherHasMadeNanIsNotSaved() throws IOException {
    LineModel m = new LineModel();
    Node spoil = m.w.assign(m.scope, Const.of(m.scope, Float.NaN));
    SessionRunHook other =
        new SessionRunHook() {
          @Override
          public void afterRun(SessionRunContext context, SessionRunValues values) {
            if (m.stepOf(context.session()) == 3) {
              context.session().run(spoil);
            }
          }
        };
    TrainingSettings settings =
        QUIET.withFolder(folder).withSaveEverySteps(1).withHooks(new NanTensorHook(m.loss), other);
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () -> {
              try (var s = MonitoredTrainingSession.start(m.scope, LocalSession::new, settings)) {
                s.loop(m::step);
              }
            });
    assertTrue(e.getMessage().startsWith("Variables have become NaN: [w]"), e.getMessage());
    assertEquals(folder.resolve("model.ckpt-2"), CheckpointFolder.latest(folder).orElseThrow());
    assertTrue(contents().keySet().stream().noneMatch(f -> f.contains("ckpt-3")));
  }

  @Test
  void runningOutOfDataEndsTrainingInPeace() {
    LineModel m = new LineModel();
    Recorder recorder = new Recorder();
    int[] left = {3};
    try (var s =
        MonitoredTrainingSession.start(m.scope, LocalSession::new, QUIET.withHooks(recorder))) {
      s.loop(
          t -> {
            if (left[0]-- == 0) {
              throw new MillraceException(Code.OUT_OF_RANGE, "The data has ended.");
            }
            m.step(t);
          });
      assertEquals(3, m.stepOf(s.raw()));
    }
    assertEquals("end", recorder.calls.getLast());
  }

  @Test
  void folderThatCannotBeWrittenIsNamedAndLeftAlone() throws IOException {
    Path file = Files.writeString(folder.resolve("taken"), "mine");
    LineModel m = new LineModel();
    for (Path bad : List.of(file, file.resolve("below"), Path.of("/proc/millrace"))) {
      MillraceException e =
          assertThrows(
              MillraceException.class,
              () ->
                  MonitoredTrainingSession.start(
                      m.scope, LocalSession::new, QUIET.withFolder(bad)));
      assertEquals(Code.PERMISSION_DENIED, e.code());
      assertTrue(e.getMessage().contains("Cannot write in the folder " + bad), e.getMessage());
    }
    assertEquals("mine", Files.readString(file));
  }

  @Test
  void secondChiefIsRefused() {
    LineModel m = new LineModel();
    TrainingSettings settings = QUIET.withFolder(folder);
    try (var s = MonitoredTrainingSession.start(m.scope, LocalSession::new, settings)) {
      assertFalse(s.shouldStop());
      LineModel second = new LineModel();
      MillraceException e =
          assertThrows(
              MillraceException.class,
              () -> MonitoredTrainingSession.start(second.scope, LocalSession::new, settings));
      assertTrue(
          e.getMessage()
              .startsWith("There is another chief (process " + ProcessHandle.current().pid() + ")"),
          e.getMessage());
    }
  }

  // README claim: hang-limit
  @Test
  void taskThatIsNotTheChiefWaitsNoLongerThanItMay() {
    LineModel m = new LineModel();
    TrainingSettings settings = QUIET.withChief(false).withMaxWait(Duration.ofSeconds(3));
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () -> MonitoredTrainingSession.start(m.scope, LocalSession::new, settings));
    assertEquals(Code.DEADLINE_EXCEEDED, e.code());
    assertTrue(
        e.getMessage().contains("Waiting for the chief, worker/0")
            && e.getMessage().contains("2 variables have no value: [global_step, w]"),
        e.getMessage());
  }

  @Test
  void threadThatFailsEndsTheStepThatWaits() {
    LineModel m = new LineModel();
    SessionRunHook failing =
        new SessionRunHook() {
          @Override
          public void afterCreateSession(Session session, Coordinator coordinator) {
            coordinator.start(
                "failing",
                () -> {
                  throw new MillraceException(Code.INVALID_ARGUMENT, "out of tokens");
                });
          }
        };
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () -> {
              try (var s =
                  MonitoredTrainingSession.start(
                      m.scope, LocalSession::new, QUIET.withHooks(failing))) {
                s.loop(m::step);
              }
            });
    assertEquals("out of tokens", e.getMessage());
  }

  @Test
  void threadThatFailsWhileHooksBeginIsTheCause() {
    LineModel m = new LineModel();
    CountDownLatch failed = new CountDownLatch(1);
    SessionRunHook failing =
        new SessionRunHook() {
          @Override
          public void afterCreateSession(Session session, Coordinator coordinator) {
            coordinator.onStop(failed::countDown);
            coordinator.start(
                "failing",
                () -> {
                  throw new MillraceException(Code.INVALID_ARGUMENT, "out of tokens");
                });
          }
        };
    SessionRunHook later =
        new SessionRunHook() {
          @Override
          public void afterCreateSession(Session session, Coordinator coordinator) {
            try {
              assertTrue(failed.await(10, TimeUnit.SECONDS), "the thread has failed");
            } catch (InterruptedException e) {
              throw new AssertionError(e);
            }
            session.run(m.w.initializer());
          }
        };
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () ->
                MonitoredTrainingSession.start(
                        m.scope, LocalSession::new, QUIET.withHooks(failing, later))
                    .close());
    assertEquals("out of tokens", e.getMessage());
  }

  // README claim: hang-first
  @Test
  void coordinatorNamesTheFirstFailure() throws InterruptedException {
    Coordinator c = new Coordinator();
    CountDownLatch stopped = new CountDownLatch(1);
    c.onStop(stopped::countDown);
    c.start("a", () -> c.awaitStop(Duration.ofSeconds(10)));
    c.start(
        "b",
        () -> {
          throw new IllegalStateException("broken");
        });
    assertTrue(stopped.await(10, TimeUnit.SECONDS));
    MillraceException e =
        assertThrows(MillraceException.class, () -> c.join(Duration.ofSeconds(10)));
    assertTrue(e.getMessage().contains("broken"));
  }

  @Test
  void checkpointOfAnotherModelIsRefusedAndNothingIsReplaced() throws IOException {
    LineModel m = new LineModel();
    TrainingSettings settings = QUIET.withFolder(folder);
    try (var s = MonitoredTrainingSession.start(m.scope, LocalSession::new, settings)) {
      m.step(s);
    }
    Map<String, String> before = contents();
    LineModel other = new LineModel();
    VariableScope.of(other.scope).variable("more", Shape.scalar(), Initializers.zeros());
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () -> MonitoredTrainingSession.start(other.scope, LocalSession::new, settings));
    assertEquals(Code.INVALID_ARGUMENT, e.code());
    assertTrue(e.getMessage().contains("'more' is missing"), e.getMessage());
    assertTrue(before.size() >= 5, before.keySet().toString());
    assertEquals(before, contents());
  }

  /** What the files hold, but for the events, of which every run has its own, and the lock. */
  private Map<String, String> contents() throws IOException {
    Map<String, String> all = new TreeMap<>();
    try (Stream<Path> files = Files.list(folder)) {
      for (Path f : files.toList()) {
        String name = f.getFileName().toString();
        if (!name.startsWith("events.") && !name.endsWith(".lock")) {
          all.put(name, Files.readString(f, StandardCharsets.ISO_8859_1));
        }
      }
    }
    return all;
  }
}
