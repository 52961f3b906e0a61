package dev.millrace.collective.member;

import dev.millrace.base.MillraceException;
import dev.millrace.base.config.Config;
import dev.millrace.base.config.RankSettings;
import dev.millrace.base.context.Context;
import java.net.InetSocketAddress;

/**
 * Which rank of which job a process is, and where the job meets.
 *
 * @param rank this process's rank
 * @param size how many ranks there are
 * @param host what tells this rank's host from others, or null to find out
 * @param rendezvous where the coordinator is, as {@code host:port}; null if all ranks run on this
 *     host and find each other by {@code job}
 * @param token the job's secret, or null for one that this user's processes on this host share
 * @param bind the address this rank listens on for the others' data; {@code 0.0.0.0} for all
 * @param job a name no other running job of this user has; used only without a rendezvous address
 * @param hostsCoordinator whether this process runs the coordinator
 */
public record RankConfig(
    int rank,
    int size,
    String host,
    String rendezvous,
    Token token,
    String bind,
    String job,
    boolean hostsCoordinator) {
  private static final String LOOPBACK = "127.0.0.1";

  /** Checks that the rank exists. */
  public RankConfig {
    if (size < 1 || rank < 0 || rank >= size) {
      throw MillraceException.invalid(
          "Rank %d of %d ranks makes no sense: ranks are 0 to size - 1.", rank, size);
    }
  }

  /** The only rank of a job. */
  public static RankConfig alone() {
    return new RankConfig(0, 1, null, null, null, LOOPBACK, "alone", true);
  }

  /** A rank of a job that meets at {@code host:port}, where rank 0 runs the coordinator. */
  public static RankConfig of(int rank, int size, String rendezvous, Token token) {
    return new RankConfig(rank, size, null, rendezvous, token, LOOPBACK, null, rank == 0);
  }

  /** The same place on a host that counts as the same for all ranks that give the same text. */
  public RankConfig onHost(String newHost) {
    return new RankConfig(rank, size, newHost, rendezvous, token, bind, job, hostsCoordinator);
  }

  /** The same place, listening for data on another address than loopback. */
  public RankConfig bindTo(String address) {
    return new RankConfig(rank, size, host, rendezvous, token, address, job, hostsCoordinator);
  }

  /** The same place in a job whose coordinator runs in another process, such as the launcher. */
  public RankConfig withCoordinatorElsewhere() {
    return new RankConfig(rank, size, host, rendezvous, token, bind, job, false);
  }

  /**
   * What the environment says: variables of Millrace's own launcher, Horovod's, Open MPI's, MPICH's
   * or Slurm's, in this order; without any, the only rank of a job.
   */
  public static RankConfig fromEnvironment() {
    return fromEnvironment(Context.current().config());
  }

  /** The same for settings other than this process's own. */
  public static RankConfig fromEnvironment(Config env) {
    Launcher launcher = Launcher.of(env);
    if (launcher == null) {
      for (String half : new String[] {"MILLRACE_RANK", "MILLRACE_SIZE"}) {
        if (env.variable(half) != null) {
          throw MillraceException.invalid(
              "%s is set, but MILLRACE_RANK and MILLRACE_SIZE are needed both.", half);
        }
      }
      return alone();
    }
    int rank = number(env, launcher.rank);
    int size = number(env, launcher.size);
    String token = env.find(RankSettings.TOKEN).orElse(null);
    return new RankConfig(
        rank,
        size,
        env.find(RankSettings.HOST).orElseGet(() -> text(env, launcher.host)),
        rendezvous(env, launcher, size),
        token == null ? null : Token.of(token),
        env.get(RankSettings.BIND),
        job(env, launcher),
        rank == 0 && !env.get(RankSettings.COORDINATOR).equals("launcher"));
  }

  /** The text of a launcher's variable; null if it has none, or has not set it. */
  private static String text(Config env, String name) {
    return name.isEmpty() ? null : env.variable(name);
  }

  private static boolean runsOnOneNode(Config env) {
    String step = env.variable("SLURM_STEP_NUM_NODES");
    return "1".equals(step != null ? step : env.variable("SLURM_NNODES"));
  }

  private static int number(Config env, String name) {
    try {
      return Integer.parseInt(env.variable(name).strip());
    } catch (NumberFormatException e) {
      throw MillraceException.invalid(
          "Environment variable %s is '%s'; it must be a number.", name, env.variable(name));
    }
  }

  private static String rendezvous(Config env, Launcher launcher, int size) {
    String given = env.find(RankSettings.RENDEZVOUS).orElse(null);
    String local = text(env, launcher.localSize);
    boolean oneHost =
        launcher == Launcher.SLURM
            ? runsOnOneNode(env)
            : local == null || local.strip().equals(Integer.toString(size));
    if (given == null && size > 1 && !oneHost) {
      throw MillraceException.failedPrecondition(
          "This job of %d ranks runs on several hosts (%s says so), which cannot find each other by"
              + " themselves. Set MILLRACE_RENDEZVOUS to an address of rank 0's host with a free"
              + " port, such as host1:29400, MILLRACE_TOKEN to a secret, and MILLRACE_BIND to the"
              + " address each rank shall listen on, for all ranks (mpirun: -x NAME).",
          size, launcher.name().toLowerCase(java.util.Locale.ROOT));
    }
    return given;
  }

  /** Ranks of one job on one host have the same parent if their launcher gives nothing better. */
  private static String job(Config env, Launcher launcher) {
    String own = text(env, launcher.job);
    String parent =
        ProcessHandle.current().parent().map(p -> Long.toString(p.pid())).orElse("none");
    String step = launcher == Launcher.SLURM ? "." + env.variable("SLURM_STEP_ID") : "";
    String key = launcher + "-" + (own == null ? "parent-" + parent : own + step);
    return key.replaceAll("[^A-Za-z0-9._-]", "_");
  }

  /** The rendezvous address, parsed but not looked up. */
  InetSocketAddress rendezvousAddress() {
    return parse(rendezvous);
  }

  static InetSocketAddress parse(String hostAndPort) {
    int colon = hostAndPort.lastIndexOf(':');
    try {
      int port = Integer.parseInt(hostAndPort.substring(colon + 1));
      String name = hostAndPort.substring(0, colon).replaceAll("[\\[\\]]", "");
      return InetSocketAddress.createUnresolved(name, port);
    } catch (IndexOutOfBoundsException | IllegalArgumentException e) {
      throw MillraceException.invalid(
          "The rendezvous address is '%s'; it must be host:port.", hostAndPort);
    }
  }
}
