package dev.millrace.collective.member;

import dev.millrace.base.config.Config;

/**
 * The programs that start the ranks of a job, and the environment variables by which each tells a
 * process its rank. In order of precedence.
 */
enum Launcher {
  MILLRACE(
      "MILLRACE_RANK", "MILLRACE_SIZE", "MILLRACE_LOCAL_SIZE", "MILLRACE_HOST", "MILLRACE_JOB"),
  HOROVOD(
      "HOROVOD_RANK",
      "HOROVOD_SIZE",
      "HOROVOD_LOCAL_SIZE",
      "HOROVOD_HOSTNAME",
      "HOROVOD_GLOO_RENDEZVOUS_PORT"),
  OPEN_MPI(
      "OMPI_COMM_WORLD_RANK",
      "OMPI_COMM_WORLD_SIZE",
      "OMPI_COMM_WORLD_LOCAL_SIZE",
      "",
      "PMIX_NAMESPACE"),
  MPICH("PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "", ""),
  SLURM("SLURM_PROCID", "SLURM_NTASKS", "", "SLURMD_NODENAME", "SLURM_JOB_ID");

  final String rank;
  final String size;
  final String localSize;
  final String host;
  final String job;

  Launcher(String rank, String size, String localSize, String host, String job) {
    this.rank = rank;
    this.size = size;
    this.localSize = localSize;
    this.host = host;
    this.job = job;
  }

  /** The launcher that started this process, or null if none did. */
  static Launcher of(Config env) {
    for (Launcher l : values()) {
      if (env.variable(l.rank) != null && env.variable(l.size) != null) {
        return l;
      }
    }
    return null;
  }
}
