package dev.millrace.dashboard.verdict;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.steps.Figure;
import dev.millrace.base.steps.StepHistory.Second;
import dev.millrace.dashboard.verdict.JobVerdict.Cause;
import dev.millrace.dashboard.verdict.JobVerdict.State;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;

/** Verdicts on made-up jobs of one parameter server and four workers, a minute after the start. */
class JudgeTest {
  private static final long NOW = 1_000_060;
  private static final int SECONDS = 60;

  /** When the cause begins, in seconds before now. */
  private static final int LATELY = 8;

  /** The figures of a second while nothing is wrong. */
  private static Map<Figure, Long> usual(String task) {
    Map<Figure, Long> f = new EnumMap<>(Figure.class);
    f.put(Figure.SAMPLED, 1_000_000_000L);
    f.put(Figure.HOST_CPU, 1_800_000_000L);
    f.put(Figure.CPU, 340_000_000L);
    f.put(Figure.GC, 5_000_000L);
    f.put(Figure.SEGMENTS, 1000L);
    if (task.startsWith("ps")) {
      f.put(Figure.PARTS, 400L);
      f.put(Figure.PARTS_RUN, 400 * 500_000L);
      f.put(Figure.QUEUE, 3L);
    } else {
      steps(f, 100, 500_000, 2_000_000, 6_000_000, 1_500_000);
    }
    return f;
  }

  private static void steps(
      Map<Figure, Long> f, long steps, long input, long pull, long compute, long push) {
    f.put(Figure.STEPS, steps);
    f.put(Figure.EXAMPLES, steps * 100);
    f.put(Figure.INPUT, steps * input);
    f.put(Figure.PULL, steps * pull);
    f.put(Figure.COMPUTE, steps * compute);
    f.put(Figure.PUSH, steps * push);
  }

  /** A job in which {@code change} alters the figures of each task since the cause began. */
  private static List<TaskFigures> job(BiConsumer<String, Map<Figure, Long>> change) {
    List<TaskFigures> tasks = new ArrayList<>();
    for (String name : List.of("ps/0", "worker/0", "worker/1", "worker/2", "worker/3")) {
      List<Second> seconds = new ArrayList<>();
      for (int s = SECONDS; s > 0; s--) {
        Map<Figure, Long> f = usual(name);
        if (s <= LATELY) {
          change.accept(name, f);
        }
        long[] values = new long[Figure.ALL.size()];
        f.forEach((figure, v) -> values[figure.ordinal()] = v);
        seconds.add(new Second(NOW - s, values));
      }
      tasks.add(task(name, null, 0, seconds));
    }
    return tasks;
  }

  private static TaskFigures task(
      String name, String failure, double silent, List<Second> seconds) {
    String job = name.substring(0, name.indexOf('/'));
    return new TaskFigures(
        name, job, failure, silent, "here", 2, "compute", 0.01, seconds, Map.of("ps/0", 0.3));
  }

  private static JobVerdict judge(BiConsumer<String, Map<Figure, Long>> change) {
    return Judge.of(job(change), NOW);
  }

  private static void blames(String task, Cause cause, JobVerdict v) {
    assertEquals(State.SLOW, v.state(), v.toString());
    assertEquals(cause, v.cause(), v.toString());
    assertEquals(task, v.task(), v.toString());
    assertTrue(v.sentence().endsWith("."), v.sentence());
  }

  @Test
  void aJobWithoutACauseIsEven() {
    JobVerdict v = judge((_, _) -> {});
    assertEquals(State.EVEN, v.state(), v.toString());
    assertEquals("No task is slow: 4 tasks train at an even pace.", v.sentence());
  }

  @Test
  void noiseIsNoCause() {
    java.util.Random random = new java.util.Random(1);
    for (int i = 0; i < 200; i++) {
      JobVerdict v =
          judge(
              (_, f) ->
                  f.replaceAll(
                      (figure, x) ->
                          figure == Figure.SAMPLED
                              ? x
                              : Math.round(x * (0.9 + 0.2 * random.nextDouble()))));
      assertEquals(State.EVEN, v.state(), v.toString());
    }
  }

  @Test
  void nothingIsSaidOfTheFirstSteps() {
    List<TaskFigures> young =
        job((_, _) -> {}).stream()
            .map(t -> task(t.name(), null, 0, t.seconds().subList(SECONDS - 5, SECONDS)))
            .toList();
    assertEquals(State.UNKNOWN, Judge.of(young, NOW).state());
    assertEquals(State.UNKNOWN, Judge.of(List.of(), NOW).state());
  }

  @Test
  void aWorkerWithALargerBatchIsNamed() {
    JobVerdict v =
        judge(
            (task, f) -> {
              if (task.equals("worker/2")) {
                steps(f, 50, 900_000, 2_000_000, 12_000_000, 1_500_000);
                f.put(Figure.EXAMPLES, 50 * 200L);
              }
            });
    blames("worker/2", Cause.BATCH, v);
    assertTrue(v.sentence().contains("its batch has 200 examples, the others' 100"), v.sentence());
    assertEquals(NOW - LATELY, v.since());
  }

  // README claim: see-dashboard
  @Test
  void whoWaitsForAStragglerIsNotBlamed() {
    JobVerdict v =
        judge(
            (task, f) -> {
              if (task.startsWith("worker")) {
                // All make 30 steps; three of them wait for the one whose input is slow.
                boolean slow = task.equals("worker/1");
                steps(f, 30, slow ? 25_000_000 : 500_000, 2_000_000, 6_000_000, 1_500_000);
                f.put(Figure.WAIT, slow ? 0L : 30 * 24_000_000L);
              }
            });
    blames("worker/1", Cause.INPUT, v);
  }

  @Test
  void garbageCollectionIsNamed() {
    blames(
        "worker/3",
        Cause.GC,
        judge(
            (task, f) -> {
              if (task.equals("worker/3")) {
                steps(f, 60, 500_000, 2_000_000, 11_000_000, 1_500_000);
                f.put(Figure.GC, 400_000_000L);
              }
            }));
  }

  @Test
  void lostPacketsAreNamed() {
    blames(
        "ps/0",
        Cause.NETWORK,
        judge(
            (_, f) -> {
              f.put(Figure.RETRANSMITTED, 90L);
              f.computeIfPresent(Figure.STEPS, (_, n) -> n / 4);
            }));
  }

  @Test
  void aProcessThatTakesTheProcessorsIsNamed() {
    JobVerdict v =
        judge(
            (task, f) -> {
              f.put(Figure.HOST_CPU, 2_000_000_000L);
              f.put(Figure.CPU, 200_000_000L);
              if (task.startsWith("worker")) {
                steps(f, 55, 900_000, 4_000_000, 11_000_000, 3_000_000);
              }
            });
    blames("", Cause.CPU, v);
    assertTrue(v.sentence().contains("host here"), v.sentence());
  }

  @Test
  void aSlowDiskIsNamed() {
    blames(
        "worker/0",
        Cause.DISK,
        judge(
            (task, f) -> {
              if (task.equals("worker/0")) {
                steps(f, 20, 500_000, 2_000_000, 6_000_000, 1_500_000);
                f.put(Figure.SAVE, 700_000_000L);
              }
            }));
  }

  @Test
  void aSlowParameterServerIsNamedAndNotTheWorkersThatWait() {
    blames(
        "ps/0",
        Cause.SERVER,
        judge(
            (task, f) -> {
              if (task.startsWith("ps")) {
                f.put(Figure.PARTS, 120L);
                f.put(Figure.PARTS_RUN, 120 * 6_000_000L);
              } else {
                steps(f, 30, 500_000, 14_000_000, 6_000_000, 12_000_000);
              }
            }));
  }

  @Test
  void aStoppedTaskIsNamedWhileItIsStoppedAndAfterwards() {
    List<TaskFigures> tasks = new ArrayList<>(job((_, _) -> {}));
    tasks.set(2, task("worker/1", "no answer", 3.2, tasks.get(2).seconds()));
    JobVerdict stopped = Judge.of(tasks, NOW);
    blames("worker/1", Cause.STOPPED, stopped);
    assertEquals(NOW - 3, stopped.since());
    JobVerdict resumed =
        judge(
            (task, f) -> {
              if (task.equals("worker/1")) {
                f.put(Figure.STOPPED, 5_000_000_000L);
              }
            });
    blames("worker/1", Cause.STOPPED, resumed);
  }

  @Test
  void aJobThatSlowsDownWithoutAReasonHasNoCulprit() {
    blames(
        "",
        Cause.UNCLEAR,
        judge(
            (task, f) -> {
              if (task.startsWith("worker")) {
                steps(f, 30, 500_000, 20_000_000, 6_000_000, 1_500_000);
              } else {
                f.put(Figure.PARTS, 120L);
                f.put(Figure.PARTS_RUN, 120 * 500_000L);
              }
              f.put(Figure.CPU, 100_000_000L);
              f.put(Figure.HOST_CPU, 700_000_000L);
            }));
  }
}
