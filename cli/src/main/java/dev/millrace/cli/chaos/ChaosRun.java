package dev.millrace.cli.chaos;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;

/**
 * Kills and pauses the processes of a job at random moments, one after the other, and waits each
 * time until training goes on.
 *
 * <p>Threading: one thread.
 */
final class ChaosRun {
  /** After this long without an acknowledged update a worker hangs. */
  private static final Duration HANG = Duration.ofSeconds(45);

  private static final Duration START = Duration.ofSeconds(120);
  private static final long POLL_NANOS = 2_000_000;
  private static final int LONGEST_CALM_MILLIS = 1200;
  private static final int LONGEST_PAUSE_MILLIS = 5000;

  /** How often two tasks are killed at once. */
  private static final double DOUBLE = 0.15;

  private static final double SERVER = 0.5;

  private final ChaosSettings settings;
  private final ChaosJob job;
  private final PrintWriter out;
  private final Random random;
  private final List<String> servers = new ArrayList<>();
  private final List<String> workers = new ArrayList<>();

  /** When a worker's last update was acknowledged, and when a task was last up. */
  private final Map<String, Long> acknowledged = new HashMap<>();

  private final Map<String, Long> up = new HashMap<>();

  /** From when a killed server is back to the next update that is acknowledged. */
  private final List<Long> recoveries = new ArrayList<>();

  /** The acknowledged updates since the last fault. */
  private final List<TaskHistory.Event> recent = new ArrayList<>();

  private final Map<String, Integer> kills = new TreeMap<>();
  private int pauses;

  ChaosRun(ChaosSettings settings, Path folder, PrintWriter out) {
    this.settings = settings;
    this.out = out;
    this.random = new Random(settings.seed());
    this.job = new ChaosJob(folder, settings);
    for (int i = 0; i < settings.ps(); i++) {
      servers.add("ps/" + i);
    }
    for (int i = 0; i < settings.workers(); i++) {
      workers.add("worker/" + i);
    }
  }

  /** Runs the job through all faults to its end. */
  ChaosResult run(Path folder) throws IOException, InterruptedException {
    String hung = null;
    try (job) {
      job.startAll();
      await(workers, 0, START);
      int done = 0;
      while (done < settings.kills() && hung == null) {
        int before = kills.values().stream().mapToInt(k -> k).sum();
        try {
          fault();
        } catch (MillraceException e) {
          if (e.code() != Code.DEADLINE_EXCEEDED) {
            throw e;
          }
          hung = e.getMessage();
        }
        done = kills.values().stream().mapToInt(k -> k).sum();
        if (done / 10 > before / 10) {
          out.printf("%d kills%n", done);
          out.flush();
        }
      }
      Verdict verdict = new Verdict(settings, folder);
      if (hung == null) {
        job.stopWorkers();
        for (String w : workers) {
          if (job.exitCode(w) != 0) {
            throw new MillraceException(
                Code.ABORTED, w + " ended with code " + job.exitCode(w) + "; see " + job.log(w));
          }
        }
        verdict.read(job.address("ps/0"));
      }
      return new ChaosResult(settings, kills, pauses, recoveries, hung, verdict);
    }
  }

  private void fault() throws IOException, InterruptedException {
    Timers.system().sleep(Duration.ofMillis(random.nextInt(LONGEST_CALM_MILLIS)));
    String victim = victim();
    if (random.nextDouble() < settings.pauses()) {
      pause(victim);
      return;
    }
    Set<String> victims = new LinkedHashSet<>(List.of(victim));
    if (random.nextDouble() < DOUBLE) {
      victims.add(victim());
    }
    for (String v : victims) {
      job.kill(v);
      kills.merge(role(v), 1, Integer::sum);
    }
    long killed = Timers.system().now();
    for (String v : victims) {
      job.start(v);
    }
    await(workers, killed, HANG.plus(START));
    for (String v : victims) {
      if (v.startsWith("ps")) {
        awaitUp(v, killed);
        // Not if the workers were away as well.
        if (victims.size() == 1) {
          recoveries.add(firstAfter(up.get(v)));
        }
      }
    }
  }

  private static String role(String task) {
    return task.equals("worker/0") ? "chief" : task.substring(0, task.indexOf('/'));
  }

  private String victim() {
    List<String> from = random.nextDouble() < SERVER ? servers : workers;
    return from.get(random.nextInt(from.size()));
  }

  private void pause(String name) throws IOException, InterruptedException {
    job.signal(name, "STOP");
    Timers.system().sleep(Duration.ofMillis(random.nextInt(LONGEST_PAUSE_MILLIS)));
    job.signal(name, "CONT");
    pauses++;
    await(workers, Timers.system().now(), HANG);
  }

  private void look() throws IOException {
    for (String name : workers) {
      for (TaskHistory.Event e : job.news(name)) {
        if (e.kind() == TaskHistory.Kind.ACKNOWLEDGED) {
          acknowledged.put(name, e.nanos());
          recent.add(e);
        } else if (e.kind() == TaskHistory.Kind.UP) {
          up.put(name, e.nanos());
        }
      }
    }
    for (String name : servers) {
      for (TaskHistory.Event e : job.news(name)) {
        up.put(name, e.nanos());
      }
    }
  }

  /** Waits until an update of each of the workers was acknowledged after {@code since}. */
  private void await(List<String> names, long since, Duration limit)
      throws IOException, InterruptedException {
    long start = Timers.system().now();
    recent.clear();
    while (true) {
      look();
      List<String> waiting =
          names.stream()
              .filter(n -> !acknowledged.containsKey(n) || acknowledged.get(n) - since <= 0)
              .toList();
      if (waiting.isEmpty()) {
        return;
      }
      String ended = job.ended();
      if (ended != null) {
        throw new MillraceException(
            Code.ABORTED,
            ended
                + " has ended by itself with code "
                + job.exitCode(ended)
                + "; see "
                + job.log(ended));
      }
      if (Timers.system().since(start) > limit.toNanos()) {
        throw new MillraceException(
            Code.DEADLINE_EXCEEDED,
            String.format(
                Locale.ROOT,
                "%s had no update acknowledged for %d s; see %s",
                waiting,
                limit.toSeconds(),
                job.log(waiting.getFirst())));
      }
      Timers.system().sleep(POLL_NANOS);
    }
  }

  private void awaitUp(String name, long since) throws IOException, InterruptedException {
    long start = Timers.system().now();
    while (!up.containsKey(name) || up.get(name) - since <= 0) {
      look();
      if (Timers.system().since(start) > START.toNanos()) {
        throw new MillraceException(
            Code.DEADLINE_EXCEEDED, name + " is not up; see " + job.log(name));
      }
      Timers.system().sleep(POLL_NANOS);
    }
  }

  /** How long after {@code time} the first update was acknowledged. */
  private long firstAfter(long time) {
    return recent.stream()
        .mapToLong(e -> e.nanos() - time)
        .filter(n -> n > 0)
        .min()
        .orElseThrow(() -> new IllegalStateException("no update was acknowledged"));
  }
}
