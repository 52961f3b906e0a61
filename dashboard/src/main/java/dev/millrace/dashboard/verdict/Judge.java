package dev.millrace.dashboard.verdict;

import dev.millrace.base.steps.Figure;
import dev.millrace.base.steps.Phase;
import dev.millrace.base.steps.StepHistory.Second;
import dev.millrace.dashboard.verdict.JobVerdict.Cause;
import dev.millrace.dashboard.verdict.JobVerdict.State;
import dev.millrace.dashboard.verdict.TaskFigures.Span;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;

/**
 * Finds what slows a job, from the figures of its tasks alone. Causes come before their effects: a
 * task that does not answer, lost packets, garbage collection and processors that others take are
 * looked for first, then tasks that differ from those that do like work, then parameter servers
 * that the others wait for. Who waits is not blamed.
 *
 * <p>The last {@value #WINDOW} seconds are compared with the same seconds of other tasks, and with
 * the task's own seconds before. What differs by less than {@value #FACTOR} times is even.
 */
public final class Judge {
  /** The seconds that count as now. */
  static final int WINDOW = 5;

  /** How much slower than usual is slow. */
  static final double FACTOR = 1.4;

  /** The first steps of a program are slow: it loads and compiles. */
  private static final int WARM_UP = 15;

  /** How far back usual goes, in seconds. */
  private static final int BASELINE = 180;

  /** How many seconds are needed to say what is usual. */
  private static final int BASELINE_LEAST = 8;

  private static final double SILENT_SECONDS = 2.5;
  private static final double STOPPED_NANOS = 1e9;
  private static final double GC_SHARE = 0.2;
  private static final double LOSS_SHARE = 0.01;

  private final List<TaskFigures> tasks;
  private final List<TaskFigures> training;
  private final List<TaskFigures> servers;
  private final long from;
  private final long to;

  private Judge(List<TaskFigures> tasks, long now) {
    this.tasks = tasks;
    this.to = now - 1;
    this.from = now - WINDOW;
    training = tasks.stream().filter(TaskFigures::isTraining).toList();
    servers = tasks.stream().filter(TaskFigures::isServer).toList();
  }

  /** The verdict on a job in the second {@code now} since 1970. */
  public static JobVerdict of(List<TaskFigures> tasks, long now) {
    return new Judge(tasks, now).judge();
  }

  private JobVerdict judge() {
    JobVerdict found = gone();
    if (found == null) {
      found = stopped();
    }
    if (found != null) {
      return found;
    }
    if (training.isEmpty()) {
      return JobVerdict.unknown("no task has made a step yet.");
    }
    long first = firstStep();
    if (to - first < WARM_UP) {
      return JobVerdict.unknown(
          String.format(
              Locale.ROOT,
              "the first step was %d s ago, and the first %d s say little.",
              Math.max(0, to - first),
              WARM_UP));
    }
    found = collecting();
    if (found == null) {
      found = losing();
    }
    if (found == null) {
      found = savingSlowly();
    }
    if (found == null) {
      found = deprived();
    }
    if (found == null) {
      found = straggler();
    }
    if (found == null) {
      found = slowServer();
    }
    if (found == null) {
      found = slowerThanBefore();
    }
    return found == null ? even() : found;
  }

  // ---- tasks that do not run ----

  private JobVerdict gone() {
    if (tasks.stream().noneMatch(t -> !t.seconds().isEmpty())) {
      return null;
    }
    return tasks.stream()
        .filter(t -> !t.isUp() && t.silentSeconds() >= SILENT_SECONDS && !t.seconds().isEmpty())
        .max(Comparator.comparingDouble(TaskFigures::silentSeconds))
        .map(
            t ->
                slow(
                    t.name(),
                    t.failure().contains("refused") ? Cause.GONE : Cause.STOPPED,
                    to + 1 - Math.round(t.silentSeconds()),
                    text(
                        "%s has not answered for %.0f s: %s.",
                        t.name(),
                        t.silentSeconds(),
                        t.failure().contains("refused")
                            ? "its process is gone"
                            : "its process was stopped, or its host cannot be reached"),
                    List.of(t.name() + ": " + t.failure())))
        .orElse(null);
  }

  private JobVerdict stopped() {
    for (TaskFigures t : tasks) {
      for (Second s : t.seconds().reversed()) {
        if (s.epochSecond() < to - 2 * WINDOW) {
          break;
        }
        double nanos = s.get(Figure.STOPPED);
        if (nanos > STOPPED_NANOS) {
          long since = s.epochSecond() - Math.round(nanos / 1e9);
          return slow(
              t.name(),
              Cause.STOPPED,
              since,
              text(
                  "%s was stopped for %.1f s: its process did not run, and it runs again.",
                  t.name(), nanos / 1e9),
              List.of(
                  text(
                      "for %.1f s it used no processor time and collected no garbage",
                      nanos / 1e9)));
        }
      }
    }
    return null;
  }

  // ---- causes that show by themselves ----

  private JobVerdict collecting() {
    TaskFigures worst = max(tasks, t -> now(t).share(Figure.GC));
    double share = now(worst).share(Figure.GC);
    double others = medianOfOthers(worst, tasks, t -> now(t).share(Figure.GC));
    if (share < GC_SHARE || now(worst).count() < 3) {
      return null;
    }
    return slow(
        worst.name(),
        Cause.GC,
        since(worst, s -> s.get(Figure.GC) > GC_SHARE / 2 * s.get(Figure.SAMPLED)),
        text(
            "%s is slow: its garbage collector works %.0f %% of the time (the other tasks: %.0f"
                + " %%). Give it a larger heap.",
            worst.name(), 100 * share, 100 * others),
        List.of(text("%.0f ms of garbage collection in a second", 1000 * share)));
  }

  private JobVerdict losing() {
    for (TaskFigures t : tasks) {
      Span now = now(t);
      double again = now.get(Figure.RETRANSMITTED);
      double sent = now.get(Figure.SEGMENTS);
      if (again >= 5 && sent > 0 && again / sent >= LOSS_SHARE) {
        return slow(
            t.name(),
            Cause.NETWORK,
            since(t, s -> s.get(Figure.RETRANSMITTED) > 0),
            text(
                "The network of %s loses packets: its host sent %.1f %% of the segments again.",
                t.name(), 100 * again / sent),
            List.of(text("%.0f of %.0f TCP segments in %d s", again, sent, now.count())));
      }
    }
    return null;
  }

  private JobVerdict savingSlowly() {
    for (TaskFigures t : training) {
      Span now = now(t);
      double saving = now.get(Figure.SAVE) / Math.max(1, now.count()) / 1e9;
      boolean stuck = t.phase().equals(Phase.SAVE.label()) && t.phaseSeconds() > WINDOW;
      if (saving > 0.4 || stuck) {
        return slow(
            t.name(),
            Cause.DISK,
            to - Math.round(stuck ? t.phaseSeconds() : WINDOW),
            text(
                "%s is slow: it %s. The disk of its checkpoints is slow, or they are too frequent"
                    + " (--save-every).",
                t.name(),
                stuck
                    ? text("has been saving for %.0f s", t.phaseSeconds())
                    : text("saves %.0f %% of the time", 100 * saving)),
            List.of(text("%.1f MB/s to disks", now.perSecond(Figure.DISK_WRITTEN) / 1e6)));
      }
      if (now.share(Figure.DISK_WAIT) > 0.3) {
        return slow(
            t.name(),
            Cause.DISK,
            since(t, s -> s.get(Figure.DISK_WAIT) > 0.2e9),
            text(
                "%s is slow: its threads wait for the disk %.0f %% of the time.",
                t.name(), 100 * now.share(Figure.DISK_WAIT)),
            List.of(text("%.1f MB/s from disks", now.perSecond(Figure.DISK_READ) / 1e6)));
      }
    }
    return null;
  }

  /** A host whose processors are taken by others than the job, or by its hypervisor. */
  private JobVerdict deprived() {
    if (rate(from, to) > 0.85 * usualRate()) {
      return null;
    }
    Map<String, List<TaskFigures>> hosts = new TreeMap<>();
    tasks.stream()
        .filter(t -> !t.host().isEmpty() && !t.seconds().isEmpty())
        .forEach(t -> hosts.computeIfAbsent(t.host(), _ -> new ArrayList<>()).add(t));
    for (Map.Entry<String, List<TaskFigures>> host : hosts.entrySet()) {
      List<TaskFigures> there = host.getValue();
      int processors = there.getFirst().processors();
      double busy = there.stream().mapToDouble(t -> now(t).share(Figure.HOST_CPU)).max().orElse(0);
      double foreign = foreign(there, from, to);
      double before = foreign(there, baseFrom(), baseTo());
      String names = String.join(", ", there.stream().map(TaskFigures::name).toList());
      if (busy > 0.85 * processors && foreign > before + 0.2 * processors) {
        return slow(
            there.size() == 1 ? names : "",
            Cause.CPU,
            since(
                there.getFirst(), s -> foreignAt(there, s.epochSecond()) > (foreign + before) / 2),
            text(
                "Other processes take the processors of host %s: %.1f of %d, %.1f before. The job"
                    + " makes %.0f %% of its usual steps/s; %s run there.",
                host.getKey(), foreign, processors, before, 100 * slowdown(), names),
            List.of(text("%.1f of %d processors are busy", busy, processors)));
      }
      double stolen =
          there.stream().mapToDouble(t -> now(t).share(Figure.HOST_STEAL)).max().orElse(0);
      if (stolen > 0.15 * processors) {
        return slow(
            there.size() == 1 ? names : "",
            Cause.STEAL,
            since(there.getFirst(), s -> s.get(Figure.HOST_STEAL) > 0.1 * s.get(Figure.SAMPLED)),
            text(
                "The hypervisor of host %s takes %.1f of its %d processors; %s run there.",
                host.getKey(), stolen, processors, names),
            List.of());
      }
    }
    return null;
  }

  private static double foreign(List<TaskFigures> there, long from, long to) {
    double host =
        there.stream().mapToDouble(t -> t.span(from, to).share(Figure.HOST_CPU)).max().orElse(0);
    double own = there.stream().mapToDouble(t -> t.span(from, to).share(Figure.CPU)).sum();
    return Math.max(0, host - own);
  }

  private static double foreignAt(List<TaskFigures> there, long second) {
    return foreign(there, second - 1, second);
  }

  // ---- like work ----

  private JobVerdict straggler() {
    for (List<TaskFigures> alike : byJob()) {
      if (alike.size() < 2) {
        continue;
      }
      TaskFigures worst = max(alike, t -> ownMillis(t));
      double own = ownMillis(worst);
      double usual = medianOfOthers(worst, alike, t -> ownMillis(t));
      double step = medianOfOthers(worst, alike, t -> now(t).millis());
      if (own < FACTOR * usual || own - usual < 0.15 * step || !isSteady(worst, alike)) {
        continue;
      }
      return why(worst, alike, own, usual);
    }
    return null;
  }

  /** Both halves of the window say the same, so that one slow step is not enough. */
  private boolean isSteady(TaskFigures worst, List<TaskFigures> alike) {
    long middle = (from + to) / 2;
    for (long[] half : new long[][] {{from, middle}, {middle + 1, to}}) {
      Span mine = worst.span(half[0], half[1]);
      double usual = medianOfOthers(worst, alike, t -> t.span(half[0], half[1]).ownMillis());
      if (mine.steps() > 0 && mine.ownMillis() < 1.2 * usual) {
        return false;
      }
    }
    // A task whose code the JVM still compiles gets faster from second to second.
    double then = worst.span(from - 4, middle).ownMillis();
    double lately = worst.span(middle + 1, to).ownMillis();
    boolean warmsUp = to - firstStep() < 4 * WARM_UP && lately < 0.85 * then;
    return !warmsUp && (now(worst).steps() > 0 || worst.phaseSeconds() > WINDOW);
  }

  private JobVerdict why(TaskFigures worst, List<TaskFigures> alike, double own, double usual) {
    Span now = now(worst);
    Phase phase = Phase.OTHER;
    double most = 0;
    for (Phase p : Phase.ALL) {
      double more = now.millis(p) - medianOfOthers(worst, alike, t -> now(t).millis(p));
      if (!p.isWaiting() && more > most) {
        most = more;
        phase = p;
      }
    }
    Phase slowPhase = phase;
    long since = since(worst, s -> perStep(s) > (own + usual) / 2);
    String how =
        text(
            "%s needs %.1f times as long for its part of a step as the median of %s (%.1f against"
                + " %.1f ms), in %s",
            worst.name(), own / usual, othersOf(worst, alike), own, usual, phase.label());
    List<String> evidence = new ArrayList<>();
    evidence.add(
        text(
            "%s: %.1f ms a step, the others %.1f ms",
            phase.label(),
            now.millis(phase),
            medianOfOthers(worst, alike, t -> now(t).millis(slowPhase))));
    double examples = now.steps() == 0 ? 0 : now.get(Figure.EXAMPLES) / now.steps();
    double usualExamples =
        medianOfOthers(
            worst,
            alike,
            t -> now(t).steps() == 0 ? 0 : now(t).get(Figure.EXAMPLES) / now(t).steps());
    if (usualExamples > 0 && examples >= 1.3 * usualExamples) {
      return slow(
          worst.name(),
          Cause.BATCH,
          since,
          text("%s: its batch has %.0f examples, the others' %.0f.", how, examples, usualExamples),
          evidence);
    }
    if (phase == Phase.INPUT) {
      return slow(
          worst.name(), Cause.INPUT, since, how + ": it waits for its next batch.", evidence);
    }
    // Time that passes without processor time is time that the task did not get.
    double cpu = now.steps() == 0 ? 0 : now.get(Figure.CPU) / now.steps() / 1e6;
    double usualCpu =
        medianOfOthers(
            worst,
            alike,
            t -> now(t).steps() == 0 ? 0 : now(t).get(Figure.CPU) / now(t).steps() / 1e6);
    evidence.add(text("%.1f ms of processor time a step, the others %.1f ms", cpu, usualCpu));
    double foreign = foreign(onHostOf(worst), from, to);
    if (cpu < 1.3 * usualCpu && foreign > 0.3) {
      evidence.add(text("other processes use %.1f processors of host %s", foreign, worst.host()));
      return slow(
          worst.name(), Cause.CPU, since, how + ": another process takes its processor.", evidence);
    }
    if (cpu < 1.3 * usualCpu) {
      return slow(
          worst.name(),
          Cause.UNCLEAR,
          since,
          how + ", without using more processor time: it is slowed down, or sleeps.",
          evidence);
    }
    return slow(
        worst.name(), Cause.COMPUTE, since, how + ": its computation takes more.", evidence);
  }

  private static double perStep(Second s) {
    double steps = s.get(Figure.STEPS);
    double own = 0;
    for (Phase p : Phase.ALL) {
      own += p.isWaiting() ? 0 : s.get(Figure.of(p));
    }
    return steps == 0 ? Double.POSITIVE_INFINITY : own / steps / 1e6;
  }

  // ---- parameter servers ----

  private JobVerdict slowServer() {
    if (servers.isEmpty()) {
      return null;
    }
    double waiting = medianOf(training, t -> waitMillis(now(t)));
    double step = medianOf(training, t -> now(t).millis());
    double before = medianOf(training, t -> waitMillis(usual(t)));
    TaskFigures worst = max(servers, s -> now(s).partMillis());
    double part = now(worst).partMillis();
    double partBefore = usual(worst).partMillis();
    double partOthers = medianOfOthers(worst, servers, s -> now(s).partMillis());
    boolean slowerThanOthers = servers.size() > 1 && part > FACTOR * partOthers;
    boolean slowerThanBefore = hasBaseline() && partBefore > 0 && part > FACTOR * partBefore;
    boolean awaited = waiting > 0.4 * step && (!hasBaseline() || waiting > FACTOR * before);
    if (!awaited || !(slowerThanOthers || slowerThanBefore)) {
      return null;
    }
    double cpu = now(worst).share(Figure.CPU);
    return slow(
        worst.name(),
        Cause.SERVER,
        since(
            worst,
            s ->
                s.get(Figure.PARTS) > 0
                    && s.get(Figure.PARTS_RUN) / (double) s.get(Figure.PARTS) / 1e6
                        > (part
                                + Math.max(
                                    partBefore, servers.size() > 1 ? partOthers : partBefore))
                            / 2),
        text(
            "%s is slow: it needs %.1f ms for a part of a step, %s. The workers wait for it %.0f %%"
                + " of their time.",
            worst.name(),
            part,
            slowerThanBefore
                ? text("%.1f ms before", partBefore)
                : text("the other parameter servers %.1f ms", partOthers),
            100 * waiting / step),
        List.of(
            text("it uses %.1f processors", cpu),
            text("at most %d parts at once", Math.round(maxOf(worst, Figure.QUEUE)))));
  }

  private static double waitMillis(Span s) {
    return s.millis(Phase.PULL) + s.millis(Phase.PUSH);
  }

  // ---- the job against itself ----

  private JobVerdict slowerThanBefore() {
    if (!hasBaseline() || slowdown() > 0.6) {
      return null;
    }
    Phase grown = null;
    double most = 0;
    for (Phase p : Phase.ALL) {
      double more = medianOf(training, t -> now(t).millis(p) - usual(t).millis(p));
      if (more > most) {
        most = more;
        grown = p;
      }
    }
    return slow(
        "",
        Cause.UNCLEAR,
        0,
        text(
            "The job makes %.0f %% of its usual steps/s%s, on all workers alike; not enough"
                + " evidence for a cause.",
            100 * slowdown(),
            grown == null
                ? ""
                : text(
                    ": %s takes %.1f ms more a step%s",
                    grown.label(), most, grown.isWaiting() ? waitedFor() : "")),
        List.of());
  }

  /** Whom the tasks that train wait for most; empty if they do not say. */
  private String waitedFor() {
    Map<String, Double> sums = new TreeMap<>();
    training.forEach(t -> t.waits().forEach((to, share) -> sums.merge(to, share, Double::sum)));
    return sums.entrySet().stream()
        .max(Map.Entry.comparingByValue())
        .map(e -> ", most of it for " + e.getKey())
        .orElse("");
  }

  private JobVerdict even() {
    List<String> evidence = new ArrayList<>();
    for (List<TaskFigures> alike : byJob()) {
      double least = alike.stream().mapToDouble(this::ownMillis).min().orElse(0);
      double most = alike.stream().mapToDouble(this::ownMillis).max().orElse(0);
      evidence.add(
          text("%s: %.1f to %.1f ms a step without waiting", alike.getFirst().job(), least, most));
    }
    return new JobVerdict(
        State.EVEN,
        "",
        Cause.NONE,
        0,
        text(
            "No task is slow: %s.",
            training.size() == 1
                ? training.getFirst().name() + " keeps its pace"
                : training.size() + " tasks train at an even pace"),
        evidence);
  }

  // ---- figures ----

  private Span now(TaskFigures t) {
    return t.span(from, to);
  }

  private Span usual(TaskFigures t) {
    return t.span(baseFrom(), baseTo());
  }

  private double ownMillis(TaskFigures t) {
    return now(t).ownMillis();
  }

  private long baseFrom() {
    return Math.max(firstStep() + WARM_UP, to - BASELINE);
  }

  private long baseTo() {
    return from - 3;
  }

  private boolean hasBaseline() {
    return baseTo() - baseFrom() >= BASELINE_LEAST;
  }

  private long firstStep() {
    return training.stream()
        .flatMap(t -> t.seconds().stream().filter(s -> s.get(Figure.STEPS) > 0).limit(1))
        .mapToLong(Second::epochSecond)
        .max()
        .orElse(to);
  }

  private double rate(long first, long last) {
    return training.stream().mapToDouble(t -> t.span(first, last).perSecond(Figure.STEPS)).sum();
  }

  private double usualRate() {
    return hasBaseline() ? rate(baseFrom(), baseTo()) : 0;
  }

  private double slowdown() {
    double usual = usualRate();
    return usual == 0 ? 1 : rate(from, to) / usual;
  }

  private double maxOf(TaskFigures t, Figure f) {
    return t.seconds().stream()
        .filter(s -> s.epochSecond() >= from)
        .mapToDouble(s -> s.get(f))
        .max()
        .orElse(0);
  }

  /** The tasks that train, by their job; the chief does what workers do. */
  private List<List<TaskFigures>> byJob() {
    Map<String, List<TaskFigures>> jobs = new TreeMap<>();
    for (TaskFigures t : training) {
      String job = t.job().equals("chief") || t.job().equals("master") ? "worker" : t.job();
      jobs.computeIfAbsent(job, _ -> new ArrayList<>()).add(t);
    }
    return List.copyOf(jobs.values());
  }

  private List<TaskFigures> onHostOf(TaskFigures task) {
    return tasks.stream().filter(t -> t.host().equals(task.host())).toList();
  }

  private static String othersOf(TaskFigures worst, List<TaskFigures> alike) {
    List<String> names =
        alike.stream().filter(t -> t != worst).map(TaskFigures::name).limit(4).toList();
    int more = alike.size() - 1 - names.size();
    return String.join(", ", names) + (more > 0 ? " and " + more + " more" : "");
  }

  /** The first second of those up to now of which {@code is} holds, with one exception at most. */
  private static long since(TaskFigures t, java.util.function.Predicate<Second> is) {
    long since = 0;
    int misses = 0;
    for (Second s : t.seconds().reversed()) {
      if (is.test(s)) {
        since = s.epochSecond();
        misses = 0;
      } else if (++misses > 2) {
        break;
      }
    }
    return since;
  }

  private static TaskFigures max(List<TaskFigures> of, ToDoubleFunction<TaskFigures> by) {
    return of.stream().max(Comparator.comparingDouble(by)).orElseThrow();
  }

  private static double medianOfOthers(
      TaskFigures one, List<TaskFigures> of, ToDoubleFunction<TaskFigures> by) {
    return medianOf(of.stream().filter(t -> t != one).toList(), by);
  }

  private static double medianOf(List<TaskFigures> of, ToDoubleFunction<TaskFigures> by) {
    double[] sorted = of.stream().mapToDouble(by).sorted().toArray();
    int n = sorted.length;
    return n == 0 ? 0 : n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  }

  private static JobVerdict slow(
      String task, Cause cause, long since, String sentence, List<String> evidence) {
    return new JobVerdict(State.SLOW, task, cause, since, sentence, List.copyOf(evidence));
  }

  private static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
