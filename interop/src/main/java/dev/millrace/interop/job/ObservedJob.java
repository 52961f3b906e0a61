package dev.millrace.interop.job;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.config.CommandSettings;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A job as a process with descendants, seen from outside: the steps in what it prints, such as
 * {@code step 12/1000}, and the processor time and memory of all its processes from the system's
 * books. Begins when the process is started.
 *
 * <p>Threading: the steps are read on a virtual thread; all else on the caller's.
 */
public final class ObservedJob {
  private static final Pattern STEP = Pattern.compile("step (\\d+)/");
  private static final Duration EVERY = Duration.ofMillis(100);
  private static final Duration END = Duration.ofSeconds(30);

  /** A global step, or processor seconds, at a time in seconds since the start. */
  private record Point(double seconds, double value) {}

  private final Process process;
  private final long begun;
  private final List<Point> steps = new ArrayList<>();
  private final List<Point> cpu = new ArrayList<>();

  /** What each process has used so far, so that those that have ended count. */
  private final Map<Long, Double> used = new HashMap<>();

  private final Map<Long, Long> peaks = new HashMap<>();
  private final StringBuilder said = new StringBuilder();

  private ObservedJob(Process process, long begun) {
    this.process = process;
    this.begun = begun;
  }

  /** Runs a job for {@code duration}, or until it ends; then ends all its processes. */
  public static JobRun run(List<String> command, Path folder, Duration duration) {
    ProcessBuilder builder =
        new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true);
    // Millrace then shows a step every 0.2 s, as the scripts of TensorFlow do.
    builder
        .environment()
        .putAll(
            Map.of(
                "CUDA_VISIBLE_DEVICES",
                "-1",
                "PYTHONUNBUFFERED",
                "1",
                CommandSettings.LIVE.variable(),
                "true"));
    long begun = Timers.system().now();
    try {
      ObservedJob job = new ObservedJob(builder.start(), begun);
      Thread reader = Thread.ofVirtual().start(job::read);
      try {
        job.watch(duration);
      } finally {
        job.end();
      }
      Timers.system().join(reader, END.toNanos());
      return job.result(command);
    } catch (IOException e) {
      throw new MillraceException(Code.UNAVAILABLE, "Cannot start " + command + ": " + e, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MillraceException(Code.CANCELLED, "Interrupted while a job ran", e);
    }
  }

  private double seconds() {
    return (Timers.system().now() - begun) / 1e9;
  }

  private void read() {
    StringBuilder line = new StringBuilder();
    try (Reader in = new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)) {
      for (int c = in.read(); c >= 0; c = in.read()) {
        line.append((char) c);
        if (c == '\n' || c == 'K') { // ends a line that is written again and again
          found(line.toString());
          line.setLength(0);
        }
      }
    } catch (IOException e) {
      // The process has ended.
    }
  }

  private synchronized void found(String line) {
    said.append(line);
    Matcher m = STEP.matcher(line);
    if (m.find()) {
      steps.add(new Point(seconds(), Double.parseDouble(m.group(1))));
    }
  }

  private void watch(Duration duration) throws InterruptedException {
    while (process.isAlive() && seconds() < duration.toNanos() / 1e9) {
      sample();
      Timers.system().sleep(EVERY);
    }
    sample();
  }

  private void sample() {
    try (Stream<ProcessHandle> below = process.descendants()) {
      Stream.concat(Stream.of(process.toHandle()), below).forEach(this::sample);
    }
    cpu.add(new Point(seconds(), used.values().stream().mapToDouble(d -> d).sum()));
  }

  private void sample(ProcessHandle one) {
    one.info().totalCpuDuration().ifPresent(d -> used.put(one.pid(), d.toNanos() / 1e9));
    try {
      for (String line : Files.readAllLines(Path.of("/proc/" + one.pid() + "/status"))) {
        if (line.startsWith("VmHWM:")) {
          peaks.put(one.pid(), 1024 * Long.parseLong(line.replaceAll("\\D", "")));
        }
      }
    } catch (IOException e) {
      // It has ended, or this is not Linux.
    }
  }

  /** Asks the job to end, and kills what is left of it. */
  private void end() throws InterruptedException {
    List<ProcessHandle> all;
    try (Stream<ProcessHandle> below = process.descendants()) {
      all = below.toList();
    }
    process.destroy();
    if (!process.waitFor(END)) {
      process.destroyForcibly();
    }
    all.forEach(ProcessHandle::destroyForcibly);
  }

  private synchronized JobRun result(List<String> command) {
    if (steps.size() < 3) {
      String text = said.toString().strip();
      throw new MillraceException(
          Code.INTERNAL,
          String.format(
              "%s has made no steps: %s",
              command.getFirst(), text.substring(Math.max(0, text.length() - 1000))));
    }
    double rate = finalRate();
    double full = fullSpeed(rate);
    return new JobRun(
        steps.getFirst().seconds(),
        full,
        at(cpu, full),
        cpu.getLast().value(),
        peaks.values().stream().mapToLong(b -> b).sum(),
        rate);
  }

  /** Steps per second in the last third of the time. */
  private double finalRate() {
    Point last = steps.getLast();
    double from = last.seconds() * 2 / 3;
    return (last.value() - at(steps, from)) / (last.seconds() - from);
  }

  /** When a second began in which the job was at 90 % of its final rate. */
  private double fullSpeed(double rate) {
    for (Point p : steps) {
      if (at(steps, p.seconds() + 1) - p.value() >= .9 * rate) {
        return p.seconds();
      }
    }
    return steps.getLast().seconds();
  }

  /** The value at a time, between points on the line between them. */
  private static double at(List<Point> points, double seconds) {
    Point before = points.getFirst();
    for (Point p : points) {
      if (p.seconds() >= seconds) {
        double span = p.seconds() - before.seconds();
        double part = span > 0 ? Math.max(0, seconds - before.seconds()) / span : 1;
        return before.value() + part * (p.value() - before.value());
      }
      before = p;
    }
    return before.value();
  }
}
