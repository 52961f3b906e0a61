package dev.millrace.examples.mnist;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Scope;
import dev.millrace.job.Mode;
import dev.millrace.job.report.Progress;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.NoOp;
import dev.millrace.runtime.LocalSession;
import dev.millrace.train.checkpoint.Saver;
import dev.millrace.train.job.JobResultFile;
import dev.millrace.train.variable.Variables;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An evaluator of a job of ten steps that does not get there. */
class MnistEvaluatorTest {
  private static final int STEPS = 10;
  private static final Duration LONG = Duration.ofMinutes(10);

  @TempDir Path folder;
  private final ByteArrayOutputStream shown = new ByteArrayOutputStream();

  private MnistEvaluator evaluator(Duration patience) {
    MnistTraining.Settings settings =
        new MnistTraining.Settings(
            Network.SOFTMAX,
            Method.SGD,
            Mode.ASYNC,
            STEPS,
            100,
            .3f,
            1,
            1,
            0,
            1,
            null,
            folder,
            null,
            Duration.ofMinutes(1));
    Progress progress =
        new Progress(new PrintStream(shown, true, StandardCharsets.UTF_8), STEPS, false);
    return new MnistEvaluator(settings, progress, patience);
  }

  /** What a chief saves when it is told to stop before its first step. */
  private void save() {
    Scope scope = Scope.of(StandardOps.newGraph());
    MnistModel.build(scope, Network.SOFTMAX, (s, loss, step) -> s.add(NoOp.OP));
    Saver saver = Saver.of(scope);
    try (LocalSession session = new LocalSession(scope.graph())) {
      session.run(Variables.initializer(scope));
      saver.save(session, folder.resolve("model.ckpt"), 0L);
    }
  }

  private JobResultFile note() {
    return new JobResultFile(folder, "chief/0", () -> false);
  }

  @Test
  void itLeavesWithAJobThatEndsBeforeItsLastStep() throws Exception {
    MnistEvaluator evaluator = evaluator(LONG);
    CompletableFuture<Double> accuracy = CompletableFuture.supplyAsync(evaluator::follow);
    save();
    note().end(null);
    double found = accuracy.get(60, TimeUnit.SECONDS);
    assertTrue(found > 0 && found < .5, "accuracy " + found);
    assertTrue(shown.toString(StandardCharsets.UTF_8).startsWith("step 0/10  test accuracy"));
  }

  @Test
  void itFailsWithAJobThatFails() {
    MnistEvaluator evaluator = evaluator(LONG);
    CompletableFuture<Double> accuracy = CompletableFuture.supplyAsync(evaluator::follow);
    note().abandon(null, new MillraceException(Code.DATA_LOSS, "the disk is gone"));
    ExecutionException e =
        assertThrows(ExecutionException.class, () -> accuracy.get(60, TimeUnit.SECONDS));
    assertEquals(
        "The job failed: chief/0 failed: the disk is gone", MillraceException.of(e).getMessage());
  }

  @Test
  void itSaysSoIfNothingWasSaved() {
    MnistEvaluator evaluator = evaluator(LONG);
    note().end(null);
    MillraceException e = assertThrows(MillraceException.class, evaluator::follow);
    assertEquals(Code.NOT_FOUND, e.code());
  }

  @Test
  void theEndOfAnEarlierRunIsNotThatOfThisOne() {
    note().end(null);
    MillraceException e =
        assertThrows(MillraceException.class, evaluator(Duration.ofMillis(1))::follow);
    assertEquals(Code.DEADLINE_EXCEEDED, e.code());
    assertTrue(e.getMessage().contains("millrace.evaluator.patience"), e::getMessage);
    // A chief that begins again takes the note away.
    note().begin();
    assertTrue(JobResultFile.read(folder).isEmpty());
  }
}
