package dev.millrace.cli.launch;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.dashboard.verdict.JobVerdict;
import dev.millrace.dashboard.watch.JobLog;
import dev.millrace.dashboard.watch.JobWatch;
import dev.millrace.dashboard.web.DashboardServer;
import dev.millrace.dashboard.web.JobSource;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.List;

/**
 * Watches the job that a launcher runs: says what slows it, in {@code job.log} and at the end, and
 * serves the live page if that is wanted.
 *
 * <p>Threading: one thread; the watch has its own.
 */
public final class JobObserver implements AutoCloseable {
  /** The verdicts of a job, in the folder of its logs. */
  public static final String FILE = "job.log";

  /** A short job is over before there is something to say. */
  private static final Duration DELAY = Duration.ofSeconds(8);

  private static final int SHOWN = 3;

  private final Path folder;

  /** Null if no task can be asked. */
  private final JobWatch watch;

  private final DashboardServer page;

  /**
   * Watches the tasks of {@code plan} from now on; does nothing if none of them can be asked.
   *
   * @param folder where the log of the verdicts goes
   */
  public static JobObserver of(
      JobPlan plan, DashboardFlags flags, JobDisplay display, Path folder) {
    if (plan.watched().isEmpty() && flags.isGiven()) {
      throw MillraceException.invalid(
          "--dashboard needs tasks that can be asked; this job has none. Use another --mode.");
    }
    return new JobObserver(plan.watched().orElse(null), flags, display, folder);
  }

  private JobObserver(ClusterSpec cluster, DashboardFlags flags, JobDisplay display, Path folder) {
    this.folder = folder;
    if (cluster == null) {
      watch = null;
      page = null;
      return;
    }
    JobLog log = new JobLog();
    Duration delay = flags.isGiven() ? Duration.ZERO : DELAY;
    watch = new JobWatch(cluster, log, delay, this::judged);
    display.observe(log, watch);
    try {
      page = flags.isGiven() ? DashboardServer.start(JobSource.of(watch), flags.port()) : null;
    } catch (RuntimeException e) {
      watch.close();
      throw e;
    }
  }

  /** Prints where the page is. */
  public void announce(PrintWriter out) {
    if (page != null) {
      out.printf("The dashboard is at %s%n", page.address());
      out.flush();
    }
  }

  private void judged(JobVerdict v) {
    if (v.state() == JobVerdict.State.UNKNOWN) {
      return;
    }
    note(v.sentence());
  }

  private void note(String sentence) {
    Instant now = Timers.system().wallTime().truncatedTo(ChronoUnit.SECONDS);
    try {
      Files.createDirectories(folder);
      Files.writeString(
          folder.resolve(FILE),
          now + " " + sentence + System.lineSeparator(),
          StandardCharsets.UTF_8,
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    } catch (IOException e) {
      // The sentence is shown all the same; the job goes on without this file.
    }
  }

  /** Prints what slowed the job, once it is over. */
  public void summarize(PrintWriter out) {
    if (watch == null) {
      return;
    }
    List<JobVerdict> blamed = watch.blamed();
    if (blamed.isEmpty()) {
      if (watch.state().verdict().state() == JobVerdict.State.EVEN) {
        out.printf("verdict: %s%n", watch.state().verdict().sentence());
      }
    } else {
      int from = Math.max(0, blamed.size() - SHOWN);
      if (from > 0) {
        out.printf("verdict: %d more, in %s%n", from, folder.resolve(FILE));
      }
      for (JobVerdict v : blamed.subList(from, blamed.size())) {
        out.printf("verdict%s: %s%n", since(v), v.sentence());
      }
    }
    out.flush();
  }

  private static String since(JobVerdict v) {
    return v.since() == 0
        ? ""
        : " since "
            + LocalTime.ofInstant(Instant.ofEpochSecond(v.since()), ZoneId.systemDefault())
                .truncatedTo(ChronoUnit.SECONDS);
  }

  @Override
  public void close() {
    if (page != null) {
      page.close();
    }
    if (watch != null) {
      watch.close();
    }
  }
}
