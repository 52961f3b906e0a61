package dev.millrace.cluster.transport;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.config.RankSettings;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.net.Admission;
import dev.millrace.net.Credential;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;

/** Where a task listens and whom it admits: what the settings say, and safe defaults. */
public final class TaskAdmission {
  private TaskAdmission() {}

  /** Who a process is that is no task. */
  public static Admission ofClient(Config settings) {
    return settings
        .find(ClusterSettings.CREDENTIALS)
        .map(c -> new Admission(Credential.open(c), true))
        .orElse(Admission.OPEN);
  }

  /**
   * Whom a task admits. With a credential, its job's processes. Without one, everybody on this host
   * if it listens on a loopback address; otherwise it must not start, unless it was told to.
   *
   * @param where it listens
   */
  public static Admission of(Config settings, TaskId task, InetSocketAddress where) {
    Credential own =
        settings
            .find(ClusterSettings.CREDENTIALS)
            .map(c -> Credential.open(c, task.toString()))
            .orElse(null);
    if (settings.get(ClusterSettings.INSECURE)) {
      return new Admission(own, false);
    }
    if (own != null || settings.get(ClusterSettings.AUTH)) {
      if (!settings.get(ClusterSettings.LINK)) {
        throw MillraceException.failedPrecondition(
            "%s is to admit its job only, which needs links, but -Dmillrace.link=false switches"
                + " them off. Leave that out, or say --insecure.",
            task);
      }
      return new Admission(own, true);
    }
    if (where.getAddress().isLoopbackAddress()) {
      return Admission.OPEN;
    }
    throw new MillraceException(
        Code.FAILED_PRECONDITION,
        task
            + " is to listen on "
            + where.getAddress().getHostAddress()
            + ":"
            + where.getPort()
            + ", which other hosts may reach, and has no credential. Anybody who can reach it could"
            + " run programs as this user. Make a credential with 'millrace credentials new FOLDER'"
            + " and give it to every task and client by --credentials FOLDER or"
            + " MILLRACE_CREDENTIALS; or accept the risk with --insecure or"
            + " MILLRACE_INSECURE=true.");
  }

  /**
   * Where a task listens: at the address of its host's name, or at the one it was told to bind to.
   *
   * @param address the task's by the cluster spec
   */
  public static InetSocketAddress listenAddress(Config settings, TaskId task, String address) {
    int colon = address.lastIndexOf(':');
    int port = Integer.parseInt(address.substring(colon + 1));
    boolean told = settings.source(RankSettings.BIND) != Config.Source.DEFAULT;
    String host = told ? settings.get(RankSettings.BIND) : address.substring(0, colon);
    try {
      return new InetSocketAddress(InetAddress.getByName(host), port);
    } catch (UnknownHostException e) {
      throw MillraceException.invalid(
          told
              ? "%s cannot bind to '%s', which does not resolve. Correct --bind."
              : "%s: the host of its address, '%s', does not resolve. Correct the cluster spec or"
                  + " the name service, or say which address to listen on with --bind.",
          task,
          told ? host : address);
    }
  }
}
