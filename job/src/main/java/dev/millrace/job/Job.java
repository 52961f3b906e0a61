package dev.millrace.job;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.collective.Ring;
import dev.millrace.job.flags.Flag;
import dev.millrace.job.flags.ProgramFlags;
import dev.millrace.job.report.Progress;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.job.Termination;
import dev.millrace.train.optimizer.Adam;
import dev.millrace.train.optimizer.Minimizer;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * A program that trains a model: what it trains, on which data, and a {@code main} of one line. The
 * flags, the environment and {@code --mode} say what a process of it is: the whole job, a parameter
 * server, a worker, a rank or an evaluator. No line of the program depends on that.
 *
 * <p>Threading: made by one thread.
 */
public final class Job {
  /** How long a task that is told to terminate has for the model to be saved. */
  private static final Duration GRACE = Duration.ofSeconds(60);

  /** The lines that name the nodes of a failed step. */
  private static final Pattern NODES = Pattern.compile("\\n\\t \\[\\[\\{\\{node [^\\n]*");

  private final String name;
  private final List<Flag> own = new ArrayList<>();
  private final List<Function<Model, SessionRunHook>> hooks = new ArrayList<>();
  private Function<ModelBuilder, Model> model;
  private Function<ProgramFlags, Dataset> train;
  private Function<ProgramFlags, Dataset> evaluate;
  private Function<OptimizerContext, Minimizer> optimizer =
      c -> new Adam(c.constant(.001), Adam.Settings.DEFAULT);
  private String best;
  private boolean highest;
  private TrainingLoop loop;
  private int epochs = 1;
  private int batchSize = 128;
  private long evaluateEvery;
  private long patience;

  private Job(String name) {
    this.name = name;
  }

  /** A job of this name, which its messages begin with. */
  public static Job named(String name) {
    return new Job(name);
  }

  /** What is trained: the function that builds it. */
  public Job model(Function<ModelBuilder, Model> build) {
    model = build;
    return this;
  }

  /**
   * The data to train on: one epoch of single examples, neither sharded nor in batches nor
   * repeated, the same in every process. The job deals them to the workers.
   */
  public Job train(Supplier<Dataset> data) {
    return train(flags -> data.get());
  }

  /** The data to train on, which depends on flags. */
  public Job train(Function<ProgramFlags, Dataset> data) {
    train = data;
    return this;
  }

  /** The data to evaluate on: single examples of the same tensors as those to train on. */
  public Job evaluate(Supplier<Dataset> data) {
    return evaluate(flags -> data.get());
  }

  /** The data to evaluate on, which depends on flags. */
  public Job evaluate(Function<ProgramFlags, Dataset> data) {
    evaluate = data;
    return this;
  }

  /** How the loss is made smaller; Adam at a rate of 0.001 without this. */
  public Job optimizer(Function<OptimizerContext, Minimizer> make) {
    optimizer = make;
    return this;
  }

  /** How often the data is passed over where neither --epochs nor --steps is given; once. */
  public Job epochs(int usual) {
    epochs = usual;
    return this;
  }

  /** The examples of a step of one worker where --batch-size is not given; 128 without this. */
  public Job batchSize(int usual) {
    batchSize = usual;
    return this;
  }

  /**
   * Evaluates each time this many steps were made, where --evaluate-every is not given; only at the
   * end without this.
   */
  public Job evaluateEvery(long usualSteps) {
    evaluateEvery = usualSteps;
    return this;
  }

  /**
   * Ends training early when no evaluation in this many steps has found a better model, as {@link
   * #keepHighest} or {@link #keepLowest} tell it, where --patience is not given.
   */
  public Job patience(long usualSteps) {
    patience = usualSteps;
    return this;
  }

  /**
   * A flag of the program's own; its type is that of {@code usual}: Integer, Long, Double, Boolean,
   * String or Path.
   */
  public Job flag(String flag, Object usual, String description) {
    Class<?> type = usual instanceof Path ? Path.class : usual.getClass();
    own.add(new Flag(flag, type, usual, description));
    return this;
  }

  /** Something done around every step, made for the model that is trained. */
  public Job hook(Function<Model, SessionRunHook> make) {
    hooks.add(make);
    return this;
  }

  /** Keeps the model with the highest {@code metric} of all evaluations in the folder best. */
  public Job keepHighest(String metric) {
    best = metric;
    highest = true;
    return this;
  }

  /** Keeps the model with the lowest {@code metric} of all evaluations in the folder best. */
  public Job keepLowest(String metric) {
    best = metric;
    highest = false;
    return this;
  }

  /** Makes the steps by a loop of the program's own. */
  public Job loop(TrainingLoop ownLoop) {
    loop = ownLoop;
    return this;
  }

  /** Runs as the {@code main} of a process: ends it with code 0, 1, 2 or, if stopped, 143. */
  public void run(String... args) {
    Termination[] installed = new Termination[1];
    StopSwitch stop = new StopSwitch(() -> installed[0].finished(Termination.TERMINATED));
    installed[0] = Termination.install(t -> stop.raise(), GRACE).alsoOnInterrupt();
    int code = call(stop, System.out, System.err, args);
    installed[0].finished(code);
    // Tasks in this process that wait for what will not come must not keep it.
    System.out.flush();
    System.exit(code);
  }

  /** Runs in a program that goes on: fails as the job does, and returns its result. */
  public JobResult start(String... args) {
    return start(new StopSwitch(() -> {}), System.out, flags(args));
  }

  /** Runs and returns the exit code. */
  int call(StopSwitch stop, PrintStream out, PrintStream err, String... args) {
    boolean verbose = List.of(args).contains("--" + JobFlags.VERBOSE);
    try {
      ProgramFlags flags = flags(args);
      if (flags.isOn(JobFlags.HELP)) {
        out.print(help());
        return 0;
      }
      JobResult result = start(stop, out, flags);
      if (result != null) {
        out.println(result.line());
      }
      return 0;
    } catch (Exception | LinkageError | StackOverflowError e) {
      if (verbose) {
        e.printStackTrace(err);
      }
      MillraceException m = MillraceException.of(e);
      String text = String.valueOf(m.getMessage());
      err.println(name + ": " + (verbose ? text : NODES.matcher(text).replaceAll("")));
      err.flush();
      return exitCode(m);
    }
  }

  private static int exitCode(MillraceException e) {
    return switch (e.code()) {
      case INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, DATA_LOSS, PERMISSION_DENIED -> 2;
      case CANCELLED -> Termination.TERMINATED;
      default -> 1;
    };
  }

  private ProgramFlags flags(String... args) {
    return ProgramFlags.parse(known(), args);
  }

  private List<Flag> known() {
    List<Flag> all = new ArrayList<>(JobFlags.all(epochs, batchSize, evaluateEvery, patience));
    all.addAll(own);
    return all;
  }

  private String help() {
    return "Trains "
        + name
        + ".\n\n"
        + ProgramFlags.usage(known())
        + "\nModes: local is one process; async, sync and bounded have parameter servers and"
        + " workers;\nring has ranks. Without a cluster (--ps_hosts, --worker_hosts, --job_name,"
        + " --task_index or\nTF_CONFIG) or a launcher of ranks, the whole job runs in this"
        + " process.\n";
  }

  private JobSpec spec() {
    if (model == null || train == null) {
      throw new MillraceException(
          Code.FAILED_PRECONDITION,
          "The program has no "
              + (model == null ? "model" : "data to train on")
              + ": give it with"
              + " Job."
              + (model == null ? "model" : "train")
              + ".");
    }
    return new JobSpec(
        name, model, train, evaluate, optimizer, List.copyOf(hooks), best, highest, loop);
  }

  private void checkPatience(TrainingPlan plan) {
    if (plan.patience() > 0 && (best == null || evaluate == null)) {
      throw MillraceException.invalid(
          "--patience is %d, but the program does not say which model is better: give it %s.",
          plan.patience(),
          evaluate == null
              ? "data with Job.evaluate"
              : "a metric with Job.keepHighest or Job.keepLowest");
    }
  }

  private JobResult start(StopSwitch stop, PrintStream out, ProgramFlags flags) {
    JobSpec job = spec();
    Place place = Place.of(flags);
    ParameterServer server = new ParameterServer(flags.path(JobFlags.LOG_DIR), stop);
    if (place.isServer()) {
      // It has no use for the data, and its machine may not have it.
      TrainingPlan.of(flags, place, () -> 0);
      out.printf("%s: %s%n", name, place);
      server.serve(place.cluster(), place.task());
      return null;
    }
    boolean terminal = System.console() != null && System.console().isTerminal();
    if (place.isEvaluator()) {
      TrainingPlan plan = TrainingPlan.of(flags, place, () -> JobSpec.count(train.apply(flags)));
      Progress shown = new Progress(out, plan.steps(), terminal);
      Dataset test = evaluate == null ? null : evaluate.apply(flags);
      return new CheckpointFollower(job, flags, plan, test, stop, shown).follow();
    }
    Dataset data = train.apply(flags);
    TrainingPlan settings = TrainingPlan.of(flags, place, () -> JobSpec.count(data));
    checkPatience(settings);
    Dataset test = evaluate == null ? null : evaluate.apply(flags);
    Progress progress = new Progress(out, settings.steps(), terminal);
    out.printf("%s: %s, %d steps of %d%n", name, place, settings.steps(), settings.batchSize());
    Trainer trainer = new Trainer(job, flags, settings, data, test, stop, progress);
    if (place.mode() == Mode.LOCAL) {
      return trainer.local();
    }
    if (place.isWhole()) {
      InProcessJob tasks = new InProcessJob(trainer, server, stop);
      return place.mode() == Mode.RING
          ? tasks.ring(place.workers())
          : tasks.cluster(place.ps(), place.workers());
    }
    if (place.rank()) {
      try (Ring ring = Ring.init()) {
        return trainer.rank(ring);
      }
    }
    return trainer.work(place.cluster(), place.task(), false);
  }
}
