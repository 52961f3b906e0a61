package dev.millrace.job;

import dev.millrace.job.flags.Flag;
import java.nio.file.Path;
import java.util.List;

/** The flags that every job has. */
final class JobFlags {
  static final String MODE = "mode";
  static final String PS = "ps";
  static final String WORKERS = "workers";
  static final String PS_HOSTS = "ps-hosts";
  static final String WORKER_HOSTS = "worker-hosts";
  static final String CLUSTER = "cluster";
  static final String JOB_NAME = "job-name";
  static final String TASK_INDEX = "task-index";
  static final String STEPS = "steps";
  static final String EPOCHS = "epochs";
  static final String BATCH_SIZE = "batch-size";
  static final String LEARNING_RATE = "learning-rate";
  static final String LOG_DIR = "log-dir";
  static final String SAVE_EVERY = "save-every";
  static final String EVALUATE_EVERY = "evaluate-every";
  static final String PATIENCE = "patience";
  static final String STEP_TIMEOUT = "step-timeout";
  static final String BACKUP_WORKERS = "backup-workers";
  static final String STALENESS_BOUND = "staleness-bound";
  static final String DURABILITY = "durability";
  static final String STATE_DIR = "state-dir";
  static final String SEED = "seed";
  static final String VERBOSE = "verbose";
  static final String HELP = "help";

  private JobFlags() {}

  /** All of them, with the usual values of a job. */
  static List<Flag> all(Integer epochs, int batchSize, long evaluateEvery, long patience) {
    return List.of(
        of(MODE, String.class, null, "local, async, sync, bounded or ring; see below."),
        of(PS, Integer.class, 1, "Parameter servers, where the job runs in this process."),
        of(WORKERS, Integer.class, 2, "Workers or ranks, where the job runs in this process."),
        of(PS_HOSTS, String.class, null, "The addresses of the parameter servers."),
        of(WORKER_HOSTS, String.class, null, "The addresses of the workers."),
        of(CLUSTER, String.class, null, "Jobs of any name: JOB=HOST:PORT,...;JOB=HOST:PORT,..."),
        of(JOB_NAME, String.class, null, "The job of this process: ps, worker or evaluator."),
        of(TASK_INDEX, Integer.class, null, "The number of this process in its job."),
        of(STEPS, Long.class, null, "Global steps to train, instead of --epochs."),
        of(EPOCHS, Integer.class, epochs, "Passes over the training data."),
        of(BATCH_SIZE, Integer.class, batchSize, "Examples per step and worker."),
        of(LEARNING_RATE, Double.class, null, "The optimizer's step size."),
        of(LOG_DIR, Path.class, null, "Where checkpoints, summaries and the result go."),
        of(SAVE_EVERY, Integer.class, 60, "Seconds between checkpoints."),
        of(EVALUATE_EVERY, Long.class, evaluateEvery, "Steps between evaluations; 0: at the end."),
        of(PATIENCE, Long.class, patience, "Steps without a better model to end after; 0: never."),
        of(STEP_TIMEOUT, Integer.class, 600, "Seconds a step may take; 0 for no limit."),
        of(BACKUP_WORKERS, Integer.class, 0, "In sync mode, workers a step need not wait for."),
        of(STALENESS_BOUND, Integer.class, 4, "In bounded mode, steps a worker may be ahead."),
        of(
            DURABILITY,
            String.class,
            null,
            "What keeps a parameter server's state: memory, process."),
        of(STATE_DIR, Path.class, null, "Where 'process' keeps it; LOG_DIR/state if not given."),
        of(SEED, Long.class, 1L, "Where random numbers start."),
        of(VERBOSE, Boolean.class, false, "Show the stack trace of a failure."),
        of(HELP, Boolean.class, false, "Show this list."));
  }

  private static Flag of(String name, Class<?> type, Object standard, String description) {
    return new Flag(name, type, standard, description);
  }
}
