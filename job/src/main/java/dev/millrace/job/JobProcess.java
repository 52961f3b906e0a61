package dev.millrace.job;

import dev.millrace.base.MillraceException;
import dev.millrace.base.config.CommandSettings;
import dev.millrace.base.config.Config;
import dev.millrace.collective.Ring;
import dev.millrace.graph.Scope;
import dev.millrace.job.ending.StopSwitch;
import dev.millrace.job.flags.ProgramFlags;
import dev.millrace.job.input.PartSizes;
import dev.millrace.job.report.Progress;
import dev.millrace.job.report.RankStatus;
import dev.millrace.ops.StandardOps;
import dev.millrace.train.checkpoint.Saver;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.job.Termination;
import java.io.PrintStream;
import java.nio.file.Path;

/**
 * One process of a job: the whole job, a parameter server, a worker, a rank or an evaluator. Made
 * by {@link Job#process}; a launcher asks it about the job before it starts any.
 *
 * <p>Threading: one thread.
 */
public final class JobProcess {
  private final JobSpec job;
  private final ProgramFlags flags;
  private final Place place;
  private TrainingPlan plan;
  private Dataset data;
  private Dataset test;

  JobProcess(JobSpec job, ProgramFlags flags, Place place) {
    this.job = job;
    this.flags = flags;
    this.place = place;
  }

  /** Whether the whole job runs in this process, rather than one of its tasks. */
  public boolean isWhole() {
    return place.isWhole();
  }

  /** What the flags say. */
  public ProgramFlags flags() {
    return flags;
  }

  /** How the job trains. */
  public Mode mode() {
    return place.mode();
  }

  /** How many parameter servers the job has. */
  public int ps() {
    return place.ps();
  }

  /** How many workers or ranks the job has. */
  public int workers() {
    return place.workers();
  }

  /** How many global steps the job makes. */
  public long steps() {
    return plan().steps();
  }

  /** How many examples a step of one worker has. */
  public int batchSize() {
    return plan().batchSize();
  }

  /** Fails as the job would at its start, unless its flags and its data can be used. */
  public void check() {
    plan();
    data();
    test();
  }

  /** Fails unless {@code checkpoint} is of the model that the job trains. */
  public void check(Path checkpoint) {
    Scope scope = Scope.of(StandardOps.newGraph());
    new TrainingTask(
        job,
        flags,
        plan(),
        scope,
        0,
        1,
        false,
        Cooperation::none,
        data(),
        null,
        new StopSwitch(() -> {}),
        null);
    Saver.of(scope).check(checkpoint);
  }

  /**
   * Does the part of this process and returns the result, null on tasks that have none. SIGTERM
   * ends the job with a save.
   */
  public JobResult run(PrintStream out) {
    StopSwitch stop = StopSwitch.ofProcess(Job.GRACE);
    int code = 1;
    try {
      JobResult result = start(stop, out, false);
      code = 0;
      return result;
    } catch (MillraceException e) {
      code = exitCode(e);
      throw e;
    } finally {
      stop.finished(code);
    }
  }

  /** The exit code of a process that fails: 2 for what a person has to correct. */
  static int exitCode(MillraceException e) {
    return switch (e.code()) {
      case INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, DATA_LOSS, PERMISSION_DENIED -> 2;
      case CANCELLED -> Termination.TERMINATED;
      default -> 1;
    };
  }

  private TrainingPlan plan() {
    if (plan == null) {
      // A parameter server has no use for the data, and its machine may not have it.
      plan =
          TrainingPlan.of(
              flags, place, job.epochs(), () -> place.isServer() ? 0 : PartSizes.about(data()));
      if (!place.isServer() && !place.isEvaluator()) {
        checkPatience();
      }
    }
    return plan;
  }

  private void checkPatience() {
    if (plan.patience() > 0 && (job.best() == null || job.evaluate() == null)) {
      throw MillraceException.invalid(
          "--patience is %d, but the program does not say which model is better: give it %s.",
          plan.patience(),
          job.evaluate() == null
              ? "data with Job.evaluate"
              : "a metric with Job.keepHighest or Job.keepLowest");
    }
  }

  private Dataset data() {
    if (data == null) {
      data = job.train().apply(flags);
    }
    return data;
  }

  /** Null if there is nothing to evaluate on. */
  private Dataset test() {
    if (test == null && job.evaluate() != null) {
      test = job.evaluate().apply(flags);
    }
    return test;
  }

  /**
   * Does the part of this process.
   *
   * @param announced whether it says first what it is
   */
  JobResult start(StopSwitch stop, PrintStream out, boolean announced) {
    if (!place.isOneOfSeveral()) {
      // A worker that a person stops by Ctrl-C leaves the others training.
      stop.heedInterrupts();
    }
    ParameterServer server = ParameterServer.of(flags, place.isWhole(), stop);
    if (place.isServer()) {
      plan();
      if (announced) {
        out.printf("%s: %s%n", job.name(), place);
      }
      server.serve(place.cluster(), place.task());
      return null;
    }
    plan();
    Progress progress = new Progress(out, plan.steps(), isTerminal());
    if (place.isEvaluator()) {
      return new CheckpointFollower(job, flags, plan, test(), stop, progress).follow();
    }
    Trainer trainer = new Trainer(job, flags, plan, data(), test(), stop, progress);
    if (announced) {
      out.printf("%s: %s, %d steps of %d%n", job.name(), place, plan.steps(), plan.batchSize());
    }
    if (place.mode() == Mode.LOCAL) {
      try (RankStatus _ = RankStatus.of(0, StandardOps.registry())) {
        return trainer.local();
      }
    }
    if (place.isWhole()) {
      InProcessJob tasks = new InProcessJob(trainer, server, stop);
      return place.mode() == Mode.RING
          ? tasks.ring(place.workers())
          : tasks.cluster(place.ps(), place.workers());
    }
    if (place.rank()) {
      try (Ring ring = Ring.init();
          RankStatus _ = RankStatus.of(ring.rank(), StandardOps.registry())) {
        return trainer.rank(ring);
      }
    }
    return trainer.work(place.cluster(), place.task(), false);
  }

  private static boolean isTerminal() {
    return Config.ofProcess().get(CommandSettings.LIVE)
        || System.console() != null && System.console().isTerminal();
  }
}
