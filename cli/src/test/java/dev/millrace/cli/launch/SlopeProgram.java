package dev.millrace.cli.launch;

import dev.millrace.graph.Output;
import dev.millrace.job.Job;
import dev.millrace.job.Model;
import dev.millrace.job.ModelBuilder;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Datasets;
import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SessionRunValues;
import dev.millrace.train.layers.Losses;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A user's program for tests of the launcher. The file {@code TASK.pids} of its folder gets a line
 * for each start. If there is no file {@code go}, each task waits for it after some steps.
 */
public final class SlopeProgram {
  private static final int STEPS_BEFORE_WAIT = 20;

  private SlopeProgram() {}

  public static void main(String[] args) throws IOException {
    Path folder = Path.of(System.getenv("TEST_FOLDER"));
    Path pids = folder.resolve(task().replace('/', '_') + ".pids");
    Files.write(
        pids,
        List.of(Long.toString(ProcessHandle.current().pid())),
        StandardOpenOption.CREATE,
        StandardOpenOption.APPEND);
    System.out.println("start " + Files.readAllLines(pids).size() + " of " + task());
    Job.named("slope")
        .model(SlopeProgram::build)
        .train(SlopeProgram::data)
        .batchSize(10)
        .hook(m -> new Wait(folder.resolve("go")))
        .run(args);
  }

  private static String task() {
    String job = System.getenv("JOB_NAME");
    String rank = System.getenv("MILLRACE_RANK");
    return job != null
        ? job + "/" + System.getenv("TASK_INDEX")
        : rank != null ? "rank/" + rank : "worker/0";
  }

  private static Model build(ModelBuilder m) {
    Output y = m.dense("slope", m.input(0), 1);
    return Model.minimizing(Losses.meanSquaredError(m.scope(), y, m.input(1)));
  }

  private static Dataset data() {
    return Datasets.generated(
        200, i -> new Tensor[] {Tensor.vector(i / 200f), Tensor.vector(3 * i / 200f)});
  }

  /** Says that some steps were made, then waits for a file. */
  private static final class Wait implements SessionRunHook {
    private final Path file;
    private int made;

    Wait(Path file) {
      this.file = file;
    }

    @Override
    public void afterRun(SessionRunContext context, SessionRunValues values) {
      if (++made != STEPS_BEFORE_WAIT) {
        return;
      }
      System.out.println("made " + made + " steps in " + task());
      long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(90);
      while (!Files.exists(file)) {
        if (System.nanoTime() - deadline > 0) {
          throw new IllegalStateException("no file " + file + " after 90 s");
        }
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
      }
    }
  }
}
