package dev.millrace.cli.launch;

import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.cli.text.ErrorPrinter;
import dev.millrace.dashboard.watch.JobLog;
import dev.millrace.dashboard.watch.JobWatch;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;

/**
 * Where the output of a job's tasks goes: the chief's standard output, or every line of all tasks
 * with the task in front, to the user; everything to one log per task.
 *
 * <p>Threading: any thread.
 */
public final class JobDisplay {
  private static final int COLOURS = 6;

  private final PrintWriter out;
  private final PrintWriter err;
  private final boolean all;
  private final boolean colour;
  private final Path logs;

  /** Where the page finds what is printed; null while nobody watches. */
  private volatile JobLog observed;

  private volatile JobWatch watch;

  /**
   * A display on these streams.
   *
   * @param all whether to show every line of every task, not only what the chief prints
   * @param colour whether the names of tasks are coloured
   * @param logs the folder of the logs; null for none
   */
  public JobDisplay(PrintWriter out, PrintWriter err, boolean all, boolean colour, Path logs) {
    this.out = out;
    this.err = err;
    this.all = all;
    this.colour = colour;
    this.logs = logs;
  }

  /** A new folder for a job that is started now, in {@code millrace-logs}. */
  public static Path newFolder(String job) {
    String time =
        DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss")
            .format(LocalDateTime.ofInstant(Timers.system().wallTime(), ZoneId.systemDefault()));
    return Path.of("millrace-logs", job + "-" + time);
  }

  /** Also tells {@code log} what tasks print, and {@code jobWatch} when they end well. */
  void observe(JobLog log, JobWatch jobWatch) {
    observed = log;
    watch = jobWatch;
  }

  /** A task has ended well. */
  void ended(JobTask task) {
    JobWatch w = watch;
    if (w != null) {
      // A rank is watched as a task of the job 'rank'.
      w.ended(task.name().replace(' ', '/'));
    }
  }

  private void observe(JobTask task, String line) {
    JobLog log = observed;
    if (log != null) {
      log.line(task.name(), line);
    }
  }

  /** The output of a task, the {@code number}th of the job. */
  TaskOutput of(JobTask task, int number) {
    String label = "[" + task.label() + "] ";
    if (colour) {
      label = "\033[3" + (1 + number % COLOURS) + "m" + label + "\033[0m";
    }
    return new TaskOutput(
        all || task.chief() ? out : null,
        all ? err : null,
        all ? label : null,
        log(task),
        line -> observe(task, line));
  }

  private PrintWriter log(JobTask task) {
    if (logs == null) {
      return null;
    }
    try {
      Files.createDirectories(logs);
      return new PrintWriter(
          Files.newBufferedWriter(
              logs.resolve(task.logName()),
              StandardCharsets.UTF_8,
              StandardOpenOption.CREATE,
              StandardOpenOption.APPEND),
          true);
    } catch (IOException e) {
      throw MillraceException.invalid(
          "The log %s cannot be written: %s.", logs.resolve(task.logName()), e.getMessage());
    }
  }

  /** Tells the user what happens to the job. */
  void say(String sentence) {
    JobLog log = observed;
    if (log != null) {
      log.event("launcher", sentence, true);
    }
    synchronized (err) {
      err.println(ErrorPrinter.PREFIX + sentence);
      err.flush();
    }
  }
}
