package dev.millrace.base.config;

import static dev.millrace.base.config.Setting.Group.FOREIGN;

import java.nio.file.Path;
import java.util.List;

/** Environment variables that other programs define. */
public final class ForeignVariables {
  public static final Setting<String> TF_CONFIG =
      Setting.optional(
          FOREIGN,
          "TF_CONFIG",
          SettingKind.TEXT,
          "The cluster and this process's task, in TensorFlow's JSON.");

  public static final Setting<String> PS_HOSTS =
      Setting.optional(
          FOREIGN,
          "PS_HOSTS",
          SettingKind.TEXT,
          "Addresses of the parameter servers; the flag --ps_hosts wins.");

  public static final Setting<String> WORKER_HOSTS =
      Setting.optional(
          FOREIGN,
          "WORKER_HOSTS",
          SettingKind.TEXT,
          "Addresses of the workers; the flag --worker_hosts wins.");

  public static final Setting<String> JOB_NAME =
      Setting.optional(
          FOREIGN,
          "JOB_NAME",
          SettingKind.TEXT,
          "The job of this process; the flag --job_name wins.");

  public static final Setting<String> TASK_INDEX =
      Setting.optional(
          FOREIGN,
          "TASK_INDEX",
          SettingKind.TEXT,
          "The index of this process in its job; the flag --task_index wins.");

  public static final Setting<String> NO_COLOR =
      Setting.optional(FOREIGN, "NO_COLOR", SettingKind.TEXT, "Any value turns colours off.");

  public static final Setting<String> TERM =
      Setting.optional(
          FOREIGN,
          "TERM",
          SettingKind.TEXT,
          "The kind of terminal; 'dumb' has no colours and no progress line.");

  /** Listed only: {@link dev.millrace.base.ProcessEnvironment} reads it. */
  static final Setting<Path> XDG_CACHE_HOME =
      Setting.optional(
          FOREIGN,
          "XDG_CACHE_HOME",
          SettingKind.PATH,
          "The user's cache folder, in place of ~/.cache.");

  /** Listed only: {@link dev.millrace.base.ProcessEnvironment} reads it. */
  static final Setting<Path> XDG_RUNTIME_DIR =
      Setting.optional(
          FOREIGN,
          "XDG_RUNTIME_DIR",
          SettingKind.PATH,
          "The folder for the sockets and shared files of links and rings, in place of the"
              + " temporary folder.");

  /**
   * Variables by which launchers tell a process its rank: Horovod's, Open MPI's, MPICH's, Slurm's.
   */
  public static final List<String> LAUNCHERS =
      List.of(
          "HOROVOD_RANK",
          "HOROVOD_SIZE",
          "HOROVOD_LOCAL_SIZE",
          "HOROVOD_HOSTNAME",
          "HOROVOD_GLOO_RENDEZVOUS_PORT",
          "OMPI_COMM_WORLD_RANK",
          "OMPI_COMM_WORLD_SIZE",
          "OMPI_COMM_WORLD_LOCAL_SIZE",
          "PMIX_NAMESPACE",
          "PMI_RANK",
          "PMI_SIZE",
          "MPI_LOCALNRANKS",
          "SLURM_PROCID",
          "SLURM_NTASKS",
          "SLURMD_NODENAME",
          "SLURM_JOB_ID",
          "SLURM_STEP_ID",
          "SLURM_STEP_NUM_NODES",
          "SLURM_NNODES");

  static final List<Setting<?>> ALL =
      List.of(
          TF_CONFIG,
          PS_HOSTS,
          WORKER_HOSTS,
          JOB_NAME,
          TASK_INDEX,
          NO_COLOR,
          TERM,
          XDG_CACHE_HOME,
          XDG_RUNTIME_DIR);

  private ForeignVariables() {}
}
