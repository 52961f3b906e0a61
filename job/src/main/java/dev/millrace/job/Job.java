package dev.millrace.job;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.config.Config;
import dev.millrace.job.ending.StopSwitch;
import dev.millrace.job.flags.Flag;
import dev.millrace.job.flags.ProgramFlags;
import dev.millrace.job.report.JobError;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.optimizer.Adam;
import dev.millrace.train.optimizer.Minimizer;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;

/**
 * A program that trains a model: what it trains, on which data, and a {@code main} of one line. The
 * flags, the environment and {@code --mode} say what a process of it is: the whole job, a parameter
 * server, a worker, a rank or an evaluator. No line of the program depends on that.
 *
 * <p>Threading: made by one thread.
 */
public final class Job {
  /** How long a task that is told to terminate has for the model to be saved. */
  static final Duration GRACE = Duration.ofSeconds(60);

  private final String name;
  private final List<Flag> own = new ArrayList<>();
  private final List<Function<Model, SessionRunHook>> hooks = new ArrayList<>();
  private final List<EvaluationListener> listeners = new ArrayList<>();
  private Function<ModelBuilder, Model> model;
  private Function<ProgramFlags, Dataset> train;
  private Function<ProgramFlags, Dataset> evaluate;
  private Function<OptimizerContext, Minimizer> optimizer =
      c -> new Adam(c.constant(.001), Adam.Settings.DEFAULT);
  private String best;
  private boolean highest;
  private TrainingLoop loop;

  /** Null where it depends on flags. */
  private Integer epochs = 1;

  private ToIntFunction<ProgramFlags> epochsOf = flags -> 1;
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

  /** How often the data is passed over by default, which depends on flags. */
  public Job epochs(ToIntFunction<ProgramFlags> usual) {
    epochs = null;
    epochsOf = usual;
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
   * String, Path or an enum.
   */
  public Job flag(String flag, Object usual, String description) {
    Class<?> type =
        usual instanceof Path
            ? Path.class
            : usual instanceof Enum<?> e ? e.getDeclaringClass() : usual.getClass();
    own.add(new Flag(flag, type, usual, description));
    return this;
  }

  /** A flag of the program's own that has no value, null, where it is not given. */
  public Job flag(String flag, Class<?> type, String description) {
    own.add(new Flag(flag, type, null, description));
    return this;
  }

  /** Something done around every step, made for the model that is trained. */
  public Job hook(Function<Model, SessionRunHook> make) {
    hooks.add(make);
    return this;
  }

  /** Calls {@code listener} after every evaluation. */
  public Job onEvaluation(EvaluationListener listener) {
    listeners.add(listener);
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
    StopSwitch stop = StopSwitch.ofProcess(GRACE);
    int code = call(stop, System.out, System.err, args);
    stop.finished(code);
    // Tasks in this process that wait for what will not come must not keep it.
    System.out.flush();
    System.exit(code);
  }

  /** Runs in a program that goes on: fails as the job does, and returns its result. */
  public JobResult start(String... args) {
    return process(Config.ofProcess(), args).start(new StopSwitch(() -> {}), System.out, true);
  }

  /**
   * What a process with these arguments is in the job, which says so before it does anything.
   *
   * @param config the settings and variables of the process
   */
  public JobProcess process(Config config, String... args) {
    ProgramFlags flags = flags(args);
    return new JobProcess(spec(), flags, Place.of(flags, config));
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
      JobProcess process = new JobProcess(spec(), flags, Place.of(flags, Config.ofProcess()));
      JobResult result = process.start(stop, out, true);
      if (result != null) {
        out.println(result.line());
      }
      return 0;
    } catch (Exception | LinkageError | StackOverflowError e) {
      if (verbose) {
        e.printStackTrace(err);
      }
      MillraceException m = JobError.of(e);
      err.println(name + ": " + (verbose ? m.getMessage() : JobError.sentence(m)));
      err.flush();
      return JobProcess.exitCode(m);
    }
  }

  private ProgramFlags flags(String... args) {
    return ProgramFlags.parse(flags(), args);
  }

  /** The flags of the program, those of every job first. */
  public List<Flag> flags() {
    List<Flag> all = new ArrayList<>(JobFlags.all(epochs, batchSize, evaluateEvery, patience));
    all.addAll(own);
    return all;
  }

  private String help() {
    return "Trains "
        + name
        + ".\n\n"
        + ProgramFlags.usage(flags())
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
        name,
        model,
        train,
        evaluate,
        epochsOf,
        optimizer,
        List.copyOf(hooks),
        List.copyOf(listeners),
        best,
        highest,
        loop);
  }
}
