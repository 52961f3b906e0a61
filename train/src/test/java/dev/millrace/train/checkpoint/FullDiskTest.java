package dev.millrace.train.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.SessionOptions;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.hook.CheckpointSaverHook;
import dev.millrace.train.hook.Schedule;
import dev.millrace.train.session.LineModel;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Saving to a disk of half a megabyte, where the system lets the test have one. */
class FullDiskTest {
  @TempDir Path folder;

  @BeforeEach
  void mount() throws IOException, InterruptedException {
    assumeTrue(
        runs("mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", folder.toString()),
        "only root may mount a small disk");
  }

  @AfterEach
  void unmount() throws IOException, InterruptedException {
    runs("umount", folder.toString());
  }

  private static boolean runs(String... command) throws IOException, InterruptedException {
    try {
      Process p = new ProcessBuilder(command).redirectErrorStream(true).start();
      return p.waitFor(20, TimeUnit.SECONDS) && p.exitValue() == 0;
    } catch (IOException e) {
      return false;
    }
  }

  // README claim: save-whole
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void saveThatDoesNotFitLeavesTheOneBefore(boolean sharded) throws IOException {
    Scope scope = Scope.of(new Graph(StandardOps.registry()));
    VariableScope here = VariableScope.of(scope.withDevice("/job:localhost/task:0/cpu:0"));
    VariableScope there = VariableScope.of(scope.withDevice("/job:localhost/task:0/cpu:1"));
    GraphVariable v = here.variable("v", Shape.of(40_000), Initializers.constant(7));
    there.variable("small", Shape.of(10_000), Initializers.zeros());
    Saver saver = Saver.of(scope, SaverOptions.DEFAULT.withMetaGraph(false).withSharded(sharded));
    try (Session session =
        new LocalSession(
            scope.graph(), SessionOptions.DEFAULT.withCpuDevices(2).withSoftPlacement(true))) {
      session.run(Variables.initializer(scope));
      Path prefix = folder.resolve("model.ckpt");
      saver.save(session, prefix, 1L);
      saver.save(session, prefix, 2L);
      MillraceException e =
          assertThrows(MillraceException.class, () -> saver.save(session, prefix, 3L));
      assertEquals(Code.RESOURCE_EXHAUSTED, e.code(), e.getMessage());
      assertTrue(e.getMessage().contains(prefix + "-3"), e.getMessage());
      assertEquals(
          folder.resolve("model.ckpt-2"), saver.restoreLatest(session, folder).orElseThrow());
      try (Tensor t = session.fetch(v.read())) {
        assertEquals(7, t.doubleAt(39_999));
      }
    }
    try (Stream<Path> files = Files.list(folder)) {
      assertTrue(
          files.noneMatch(f -> f.getFileName().toString().matches(".*ckpt-3.*|.*temp.*")),
          "something was left of the save that failed");
    }
  }

  /** A model of some 160 KB, trained with a save after every step. */
  private void train(IntConsumer beforeStep) {
    LineModel m = new LineModel();
    VariableScope.of(m.scope).variable("v", Shape.of(40_000), Initializers.zeros());
    Saver saver = Saver.of(m.scope, SaverOptions.DEFAULT.withMetaGraph(false).withMaxToKeep(1));
    TrainingSettings settings =
        TrainingSettings.DEFAULT.withHooks(
            new CheckpointSaverHook(
                m.step, saver, folder.resolve("model.ckpt"), Schedule.everySteps(1), null));
    try (var session = MonitoredTrainingSession.start(m.scope, LocalSession::new, settings)) {
      for (int i = 0; i < 8; i++) {
        beforeStep.accept(i);
        m.step(session);
      }
    }
  }

  private Path latest() {
    return CheckpointFolder.latest(folder).orElseThrow().getFileName();
  }

  private void fill() {
    try {
      Files.write(folder.resolve("filling"), new byte[300 << 10]);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void makeRoom() {
    try {
      Files.delete(folder.resolve("filling"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void trainingOutlivesSomeSavesThatFail() {
    train(
        i -> {
          if (i == 2) {
            fill();
          } else if (i == 5) {
            assertEquals("model.ckpt-2", latest().toString());
            makeRoom();
          } else if (i == 6) {
            // Three have failed in a row, and now there is room.
            assertEquals("model.ckpt-6", latest().toString());
          }
        });
    assertEquals("model.ckpt-8", latest().toString());
  }

  @Test
  void trainingFailsWhenSavesGoOnFailing() {
    AtomicInteger steps = new AtomicInteger();
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () ->
                train(
                    i -> {
                      steps.set(i);
                      if (i == 2) {
                        fill();
                      }
                    }));
    assertEquals(Code.RESOURCE_EXHAUSTED, e.code(), e.getMessage());
    assertEquals(5, steps.get(), "three failures are tolerated, the fourth is not");
    assertEquals("model.ckpt-2", latest().toString());
  }
}
