package dev.millrace.job;

import dev.millrace.base.MillraceException;
import dev.millrace.base.config.CommandSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.config.ForeignVariables;
import dev.millrace.base.config.RankSettings;
import dev.millrace.base.config.Setting;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.cluster.spec.TfConfig;
import dev.millrace.collective.member.RankConfig;
import dev.millrace.job.flags.ProgramFlags;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What a process of a job is: by the tutorial's flags, the variables of the same names, TF_CONFIG
 * or a launcher of ranks.
 *
 * @param mode how the job trains
 * @param cluster the tasks of the job; null if it has none or if they are all in this process
 * @param task which of them this process is; null if there is no cluster
 * @param rank whether a launcher started this process as a rank
 * @param ps the parameter servers of the job
 * @param workers the workers or ranks of the job
 */
record Place(Mode mode, ClusterSpec cluster, TaskId task, boolean rank, int ps, int workers) {
  private static final String EVALUATOR = "evaluator";

  /** The place of this process. */
  static Place of(ProgramFlags flags) {
    return of(flags, Config.ofProcess());
  }

  /** The place of a process with these variables. */
  static Place of(ProgramFlags flags, Config config) {
    TfConfig tf = config.find(ForeignVariables.TF_CONFIG).map(TfConfig::parse).orElse(null);
    TaskId task = task(flags, config, tf);
    ClusterSpec cluster = cluster(flags, config, tf);
    boolean rank =
        RankConfig.fromEnvironment(config).size() > 1 || config.find(RankSettings.RANK).isPresent();
    Mode mode = mode(flags, config, cluster != null || task != null, rank);
    checkCounts(flags, mode);
    int workers = flags.integer(JobFlags.WORKERS);
    if (!mode.hasServers()) {
      if (task != null && !task.job().equals(EVALUATOR)) {
        throw MillraceException.invalid(
            "--mode %s has no tasks, but this process is %s. Leave out the mode or the task.",
            mode, task);
      }
      boolean ranks = mode == Mode.RING;
      int count = !ranks ? 1 : rank ? RankConfig.fromEnvironment(config).size() : workers;
      return new Place(mode, null, task, ranks && rank, 0, count);
    }
    if (task == null && cluster != null) {
      throw MillraceException.invalid(
          "The cluster is given, but not which task of it this process is: add --job_name and"
              + " --task_index, or leave the cluster out to have all of it in this process.");
    }
    if (task == null) {
      return new Place(mode, null, null, false, flags.integer(JobFlags.PS), workers);
    }
    if (task.job().equals(EVALUATOR)) {
      int known = cluster == null ? workers : cluster.replicas().size();
      return new Place(mode, cluster, task, false, 1, known);
    }
    check(cluster, task);
    return new Place(
        mode, cluster, task, false, cluster.tasks("ps").size(), cluster.replicas().size());
  }

  private static void check(ClusterSpec cluster, TaskId task) {
    if (cluster == null) {
      throw MillraceException.invalid(
          "This process is %s, but of which cluster? Add --ps_hosts and --worker_hosts.", task);
    }
    cluster.checkTrains();
    if (!task.job().equals("ps") && !cluster.replicas().contains(task)) {
      throw MillraceException.invalid(
          "This process is of job '%s'; the tasks that train are %s, and the others ps or"
              + " evaluator.",
          task.job(), cluster.replicas());
    }
    cluster.address(task);
    cluster.checkAddresses();
  }

  private static void checkCounts(ProgramFlags flags, Mode mode) {
    boolean servers = flags.isGiven(JobFlags.PS);
    if (mode == Mode.LOCAL && (servers || flags.isGiven(JobFlags.WORKERS))) {
      throw MillraceException.invalid(
          "--mode local trains in one process: leave out --ps and --workers, or use another mode.");
    }
    if (mode == Mode.RING && servers) {
      throw MillraceException.invalid("--mode ring has no parameter servers: leave out --ps.");
    }
    TrainingPlan.positive(flags.integer(JobFlags.PS), JobFlags.PS);
    TrainingPlan.positive(flags.integer(JobFlags.WORKERS), JobFlags.WORKERS);
  }

  private static Mode mode(ProgramFlags flags, Config config, boolean cluster, boolean rank) {
    String text = text(flags.text(JobFlags.MODE), config, CommandSettings.MODE);
    if (text == null) {
      return cluster ? Mode.ASYNC : rank ? Mode.RING : Mode.LOCAL;
    }
    return Mode.of(text);
  }

  private static TaskId task(ProgramFlags flags, Config config, TfConfig tf) {
    String job = text(flags.text(JobFlags.JOB_NAME), config, ForeignVariables.JOB_NAME);
    if (job == null) {
      return tf == null ? null : tf.task();
    }
    Integer index = flags.integer(JobFlags.TASK_INDEX);
    // A job has one evaluator.
    String usual = job.equals(EVALUATOR) ? "0" : null;
    String given = config.find(ForeignVariables.TASK_INDEX).map(String::strip).orElse(usual);
    if (index == null && given == null) {
      throw MillraceException.invalid(
          "Which task of job '%s' is this process? Use --task_index.", job);
    }
    try {
      return new TaskId(job, index != null ? index : Integer.parseInt(given));
    } catch (NumberFormatException e) {
      throw MillraceException.invalid("TASK_INDEX is '%s'; it must be 0, 1, 2, ...", given);
    }
  }

  private static ClusterSpec cluster(ProgramFlags flags, Config config, TfConfig tf) {
    Map<String, String> jobs = new LinkedHashMap<>();
    String any = flags.text(JobFlags.CLUSTER);
    for (String job : any == null ? new String[0] : any.split(";")) {
      int equals = job.indexOf('=');
      if (equals < 1) {
        throw MillraceException.invalid(
            "'%s' in --cluster is not JOB=HOST:PORT,..., such as worker=host1:2222.", job);
      }
      jobs.put(job.substring(0, equals).strip(), job.substring(equals + 1));
    }
    put(jobs, "ps", text(flags.text(JobFlags.PS_HOSTS), config, ForeignVariables.PS_HOSTS));
    put(
        jobs,
        "worker",
        text(flags.text(JobFlags.WORKER_HOSTS), config, ForeignVariables.WORKER_HOSTS));
    return !jobs.isEmpty() ? ClusterSpec.ofHosts(jobs) : tf == null ? null : tf.cluster();
  }

  private static void put(Map<String, String> jobs, String job, String hosts) {
    if (hosts != null) {
      jobs.put(job, hosts);
    }
  }

  private static String text(String flag, Config config, Setting<String> variable) {
    return Optional.ofNullable(flag)
        .or(() -> config.find(variable))
        .filter(s -> !s.isBlank())
        .orElse(null);
  }

  /** Whether this process tests the checkpoints of a job that others train. */
  boolean isEvaluator() {
    return task != null && task.job().equals(EVALUATOR);
  }

  /** Whether this process is a parameter server. */
  boolean isServer() {
    return task != null && task.job().equals("ps");
  }

  /** Whether this process is the task of a job that goes on without it. */
  boolean isOneOfSeveral() {
    return cluster != null && task != null && !task.equals(cluster.replicas().getFirst());
  }

  /** Whether the whole job runs in this process. */
  boolean isWhole() {
    return mode == Mode.LOCAL || task == null && !rank;
  }

  @Override
  public String toString() {
    String who = task != null ? task.toString() : rank ? "a rank" : "this process";
    String tasks =
        mode == Mode.LOCAL
            ? "one process"
            : mode == Mode.RING ? workers + " ranks" : ps + " ps, " + workers + " workers";
    return mode + ", " + tasks + (isWhole() && mode != Mode.LOCAL ? " in " : ": ") + who;
  }
}
