package dev.millrace.cli.launch;

import dev.millrace.base.MillraceException;
import picocli.CommandLine.Option;

/** Whether a job has a live page, and where. */
public final class DashboardFlags {
  @Option(
      names = "--dashboard",
      description = "Serve a live page of the job on this host, and print its address.")
  boolean dashboard;

  @Option(
      names = {"--dashboard-port", "--dashboard_port"},
      paramLabel = "N",
      description = "The port of the page, for this host only. Default: any that is free.")
  int port;

  /** Whether there is to be a page. */
  public boolean isGiven() {
    return dashboard || port != 0;
  }

  /** The port of the page; 0 for any that is free. */
  public int port() {
    if (port < 0 || port > 65_535) {
      throw MillraceException.invalid("--dashboard-port is %d; it must be from 0 to 65535.", port);
    }
    return port;
  }
}
