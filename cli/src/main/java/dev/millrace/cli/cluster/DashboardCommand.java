package dev.millrace.cli.cluster;

import dev.millrace.base.MillraceException;
import dev.millrace.dashboard.verdict.JobVerdict;
import dev.millrace.dashboard.watch.JobLog;
import dev.millrace.dashboard.watch.JobWatch;
import dev.millrace.dashboard.web.DashboardServer;
import dev.millrace.dashboard.web.JobSource;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Serves the live page of a job that runs. */
@Command(
    name = "dashboard",
    description = "Show a running job on a live page, on this host.",
    footer = {
      "",
      "The page is for this host only. From another one, forward its port: ssh -L"
          + " 8080:127.0.0.1:8080",
      "Ends with Ctrl-C; the job goes on.",
      "",
      "Examples:",
      "  millrace dashboard --ps_hosts host0:2222 --worker_hosts host1:2222,host2:2222",
      "  millrace dashboard --cluster local=localhost:2222 --port 8080",
    })
public final class DashboardCommand implements Callable<Integer> {
  @CommandLine.Spec CommandLine.Model.CommandSpec spec;

  @Mixin ClusterFlags cluster;
  @Mixin SecurityFlags security;

  @Option(
      names = "--port",
      paramLabel = "N",
      description = "The port of the page. Default: any that is free.")
  int port;

  @Override
  public Integer call() throws InterruptedException {
    return security.context("dashboard").<Integer, InterruptedException>call(this::show);
  }

  private int show() throws InterruptedException {
    if (port < 0 || port > 65_535) {
      throw MillraceException.invalid("--port is %d; it must be from 0 to 65535.", port);
    }
    try (JobWatch watch =
            new JobWatch(cluster.cluster(), new JobLog(), Duration.ZERO, this::judged);
        DashboardServer page = DashboardServer.start(JobSource.of(watch), port)) {
      spec.commandLine().getOut().printf("The dashboard is at %s%n", page.address());
      spec.commandLine().getOut().flush();
      new CountDownLatch(1).await();
    }
    return 0;
  }

  private void judged(JobVerdict v) {
    if (v.state() != JobVerdict.State.UNKNOWN) {
      spec.commandLine().getOut().println(v.sentence());
      spec.commandLine().getOut().flush();
    }
  }
}
