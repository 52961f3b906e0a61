package dev.millrace.dashboard.watch;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.base.steps.Figure;
import dev.millrace.base.steps.StepHistory;
import dev.millrace.base.steps.StepHistory.Second;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.cluster.transport.StatusClient;
import dev.millrace.dashboard.verdict.TaskFigures;
import dev.millrace.proto.TaskFacts;
import dev.millrace.proto.TaskFactsRequest;
import dev.millrace.proto.TaskLink;
import dev.millrace.proto.TaskSecond;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * One task: asked again and again, with what it has answered so far.
 *
 * <p>Threading: any thread.
 */
final class WatchedTask implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  /** A question that has no answer for so long means that the task is silent. */
  private static final long SILENT_NANOS = 1_500_000_000L;

  /** How far back the rates of waits and bytes go. */
  private static final int RATE_SECONDS = 6;

  /** How much a task had waited and sent at some time. */
  private record Totals(long nanos, Map<String, Long> waits, Map<String, Long> sent) {}

  private final TaskId id;
  private final String address;
  private final StatusClient client;
  private final JobLog log;
  private final Timers timers = Context.current().timers();

  // Guarded by this from here on.
  private final Deque<Second> seconds = new ArrayDeque<>();
  private final Deque<Totals> totals = new ArrayDeque<>();
  private TaskFacts facts;
  private String failure = "not asked yet";
  private double answerMillis;
  private double clockAheadMillis;
  private int starts;

  /** Whether it is a task that has no facts, such as TensorFlow's. */
  private boolean foreign;

  /** When the question that has no answer yet was asked; 0 if all are answered. */
  private long askedNanos;

  private long heardNanos;
  private boolean wasUp;

  WatchedTask(TaskId id, String address, Executor threads, JobLog log) {
    this.id = id;
    this.address = address;
    this.log = log;
    client = new StatusClient(id, address, threads);
    heardNanos = timers.now();
  }

  /** Such as {@code worker/1}. */
  String name() {
    return id.toString();
  }

  /** Asks it unless it still owes an answer. */
  void ask() {
    long after;
    boolean statusOnly;
    Instant asked = timers.wallTime();
    long now = timers.now();
    synchronized (this) {
      if (askedNanos != 0) {
        return;
      }
      askedNanos = now | 1;
      after = seconds.isEmpty() ? 1 : seconds.getLast().epochSecond() + shiftSeconds();
      statusOnly = foreign;
    }
    if (statusOnly) {
      client
          .status(PATIENCE)
          .whenComplete((_, e) -> answered(null, e == null ? null : MillraceException.of(e)));
      return;
    }
    client
        .facts(after, PATIENCE)
        .whenComplete(
            (f, e) -> {
              if (f != null) {
                measureClock(f, asked);
              }
              answered(f, e == null ? null : MillraceException.of(e));
            });
  }

  /** Has it record single phases for a while. */
  CompletableFuture<TaskFacts> record(Duration duration) {
    return client.facts(
        TaskFactsRequest.newBuilder().setRecordMillis(duration.toMillis()).build(), PATIENCE);
  }

  /** What it has recorded. */
  CompletableFuture<TaskFacts> recorded() {
    return client.facts(TaskFactsRequest.newBuilder().setRecorded(true).build(), PATIENCE);
  }

  /** How far its clock is ahead of ours, in nanoseconds. */
  synchronized long clockAheadNanos() {
    return Math.round(clockAheadMillis * 1e6);
  }

  private long shiftSeconds() {
    return Math.round(clockAheadMillis / 1000);
  }

  private synchronized void measureClock(TaskFacts f, Instant asked) {
    Instant theirs = Instant.EPOCH.plus(f.getClockMicros(), ChronoUnit.MICROS);
    Instant middle = asked.plus(Duration.between(asked, timers.wallTime()).dividedBy(2));
    clockAheadMillis = Duration.between(middle, theirs).toNanos() / 1e6;
  }

  private synchronized void answered(TaskFacts f, MillraceException e) {
    long now = timers.now();
    answerMillis = (now - askedNanos) / 1e6;
    askedNanos = 0;
    if (e != null && e.code() == Code.UNIMPLEMENTED) {
      foreign = true;
      return;
    }
    if (e != null) {
      String why = String.valueOf(e.getMessage());
      failure = why.contains("refused") ? "connection refused: nothing listens there" : why;
      return;
    }
    failure = null;
    heardNanos = now;
    if (f == null) {
      starts = 1;
      return;
    }
    boolean restarted = facts == null || facts.getPid() != f.getPid();
    if (restarted) {
      starts++;
      totals.clear();
      if (starts > 1) {
        log.event(id.toString(), "has started again", false);
      }
    }
    facts = f;
    add(f, now);
  }

  private void add(TaskFacts f, long now) {
    Map<String, Integer> columns = new HashMap<>();
    for (int i = 0; i < f.getFiguresCount(); i++) {
      columns.put(f.getFigures(i), i);
    }
    for (TaskSecond s : f.getSecondsList()) {
      long[] values = new long[Figure.ALL.size()];
      for (Figure figure : Figure.ALL) {
        Integer at = columns.get(figure.label());
        values[figure.ordinal()] = at == null || at >= s.getValuesCount() ? 0 : s.getValues(at);
      }
      long second = s.getEpochSecond() - shiftSeconds();
      if (seconds.isEmpty() || second > seconds.getLast().epochSecond()) {
        seconds.add(new Second(second, values));
      }
    }
    while (seconds.size() > StepHistory.SECONDS) {
      seconds.poll();
    }
    Map<String, Long> waits = new TreeMap<>();
    f.getWaitsMap().forEach((task, nanos) -> waits.put(shortName(task), nanos));
    Map<String, Long> sent = new TreeMap<>();
    for (TaskLink l : f.getLinksList()) {
      sent.merge(shortName(l.getTask()), l.getSentBytes(), Long::sum);
    }
    totals.add(new Totals(now, waits, sent));
    while (totals.size() > RATE_SECONDS) {
      totals.poll();
    }
  }

  /** {@code worker/1} for TensorFlow's full name of a task. */
  static String shortName(String task) {
    return task.replaceFirst("^/job:", "").replaceFirst("/replica:\\d+", "").replace("/task:", "/");
  }

  /** What has grown by how much in a second, lately. */
  private static Map<String, Double> rates(
      Totals first, Totals last, java.util.function.Function<Totals, Map<String, Long>> of) {
    Map<String, Double> rates = new TreeMap<>();
    double passed = (last.nanos - first.nanos) / 1e9;
    of.apply(last)
        .forEach(
            (task, total) -> {
              long grown = total - of.apply(first).getOrDefault(task, 0L);
              if (grown > 0 && passed > 0) {
                rates.put(task, grown / passed);
              }
            });
    return rates;
  }

  /** How it is now. */
  synchronized TaskState state() {
    long now = timers.now();
    boolean silent = askedNanos != 0 && now - askedNanos > SILENT_NANOS;
    String why = failure != null ? failure : silent ? "no answer" : null;
    boolean up = why == null;
    if (wasUp && !up) {
      log.event(id.toString(), "does not answer: " + why, true);
    } else if (up && !wasUp && starts > 0 && facts != null && heardNanos != 0) {
      log.event(id.toString(), "answers", false);
    }
    wasUp = up;
    Map<String, Double> waits = Map.of();
    Map<String, Double> sent = Map.of();
    if (totals.size() > 1) {
      waits = rates(totals.getFirst(), totals.getLast(), Totals::waits);
      waits.replaceAll((_, nanos) -> nanos / 1e9);
      sent = rates(totals.getFirst(), totals.getLast(), Totals::sent);
    }
    return new TaskState(
        address,
        facts,
        answerMillis,
        clockAheadMillis,
        starts,
        sent,
        new TaskFigures(
            id.toString(),
            id.job(),
            why,
            up ? 0 : (now - heardNanos) / 1e9,
            facts == null ? "" : facts.getHost(),
            facts == null ? 0 : facts.getProcessors(),
            facts == null ? "" : facts.getPhase(),
            facts == null ? 0 : facts.getPhaseNanos() / 1e9,
            List.copyOf(seconds),
            waits));
  }

  @Override
  public void close() {
    client.close();
  }
}
