package dev.millrace.cli.cluster;

import dev.millrace.base.MillraceException;
import dev.millrace.base.config.Config;
import dev.millrace.base.config.ForeignVariables;
import dev.millrace.base.config.Setting;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.cluster.spec.TfConfig;
import java.util.LinkedHashMap;
import java.util.Map;
import picocli.CommandLine.Option;

/**
 * Which cluster and which task of it this process is: by TensorFlow's usual flags, with {@code _}
 * or {@code -}, by the environment variables of the same names, or by {@code TF_CONFIG}.
 */
public final class ClusterFlags {
  @Option(
      names = {"--ps_hosts", "--ps-hosts"},
      paramLabel = "HOST:PORT,...",
      description = "The addresses of the parameter servers.")
  String psHosts = given(ForeignVariables.PS_HOSTS);

  @Option(
      names = {"--worker_hosts", "--worker-hosts"},
      paramLabel = "HOST:PORT,...",
      description = "The addresses of the workers.")
  String workerHosts = given(ForeignVariables.WORKER_HOSTS);

  @Option(
      names = "--cluster",
      paramLabel = "JOB=HOST:PORT,...",
      description = "The addresses of a job of any name; may be given several times.")
  Map<String, String> jobs = new LinkedHashMap<>();

  @Option(
      names = {"--job_name", "--job-name"},
      paramLabel = "JOB",
      description = "The job this process belongs to.")
  String jobName = given(ForeignVariables.JOB_NAME);

  @Option(
      names = {"--task_index", "--task-index"},
      paramLabel = "N",
      description = "The number of this process in its job.")
  String taskIndex = given(ForeignVariables.TASK_INDEX);

  /** What the variable of the same name says, in case there is no flag; null if it is not set. */
  private static String given(Setting<String> variable) {
    return Config.ofProcess().find(variable).orElse(null);
  }

  /** These settings with what the flags say. */
  public Config in(Config before) {
    Config c = before;
    c = withFlag(c, ForeignVariables.PS_HOSTS, "--ps_hosts", psHosts);
    c = withFlag(c, ForeignVariables.WORKER_HOSTS, "--worker_hosts", workerHosts);
    c = withFlag(c, ForeignVariables.JOB_NAME, "--job_name", jobName);
    return withFlag(c, ForeignVariables.TASK_INDEX, "--task_index", taskIndex);
  }

  /** A flag that was not given has the value of the variable of its name. */
  private static Config withFlag(Config c, Setting<String> s, String flag, String value) {
    return value == null || value.equals(c.find(s).orElse(null)) ? c : c.withFlag(s, flag, value);
  }

  /** What TF_CONFIG says, or null. Asked for only when needed: it may be wrong. */
  private static TfConfig tfConfig() {
    return TfConfig.ofEnvironment();
  }

  /** Whether this process is one task of a cluster started by hand. */
  public boolean given() {
    return isSet(jobName) || (tfConfig() != null && tfConfig().task() != null);
  }

  /** The jobs that {@code --cluster} describes, and their addresses. */
  public Map<String, String> jobs() {
    return jobs;
  }

  /** Whether a cluster is described at all. */
  public boolean hasCluster() {
    return !jobs.isEmpty() || isSet(psHosts) || isSet(workerHosts) || tfConfig() != null;
  }

  /** The cluster that is described. No two of its tasks may have the same address. */
  public ClusterSpec cluster() {
    ClusterSpec spec = described();
    spec.checkAddresses();
    return spec;
  }

  private ClusterSpec described() {
    Map<String, String> all = new LinkedHashMap<>(jobs);
    if (isSet(psHosts)) {
      all.put("ps", psHosts);
    }
    if (isSet(workerHosts)) {
      all.put("worker", workerHosts);
    }
    TfConfig config = all.isEmpty() ? tfConfig() : null;
    if (config != null) {
      return config.cluster();
    }
    if (all.isEmpty()) {
      throw MillraceException.invalid(
          "No cluster is given. Use --ps_hosts and --worker_hosts, or --cluster JOB=HOST:PORT,...,"
              + " or the environment variable TF_CONFIG.");
    }
    return ClusterSpec.ofHosts(all);
  }

  /** Whether this process is a job's evaluator, which its cluster need not list. */
  public boolean isEvaluator() {
    TaskId task = givenTask();
    return task != null && task.job().equals("evaluator");
  }

  private TaskId givenTask() {
    TfConfig config = isSet(jobName) ? null : tfConfig();
    return isSet(jobName) ? named() : config == null ? null : config.task();
  }

  public TaskId task() {
    TaskId task = givenTask();
    if (task == null) {
      throw MillraceException.invalid(
          "Which task of the cluster is this process? Use --job_name and --task_index.");
    }
    cluster().address(task);
    return task;
  }

  private TaskId named() {
    if (!isSet(taskIndex)) {
      return null;
    }
    try {
      return new TaskId(jobName, Integer.parseInt(taskIndex.strip()));
    } catch (NumberFormatException e) {
      throw MillraceException.invalid(
          "The task's number is '%s'; --task_index or TASK_INDEX must be 0, 1, 2, ...", taskIndex);
    }
  }

  private static boolean isSet(String s) {
    return s != null && !s.isBlank();
  }
}
