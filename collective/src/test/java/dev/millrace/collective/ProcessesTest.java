package dev.millrace.collective;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.collective.testing.ProcessorClock;
import dev.millrace.collective.testing.RankProcess;
import dev.millrace.testkit.Slow;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Ranks in processes of their own. */
@Slow
@Timeout(180)
@Execution(ExecutionMode.CONCURRENT)
class ProcessesTest {
  /**
   * In this time the death of a process is known to all. Silence and operations that do not move
   * are waited for longer: it is the closed connection that tells.
   */
  private static final double PROMISED_SECONDS = 5;

  /** How long silence may take to be noticed, on however busy a machine. */
  private static final double SILENCE_SECONDS = 30;

  @Test
  void aKilledRankIsNamedByAllOthersAtOnce() throws Exception {
    List<RankProcess> ranks = RankProcess.start(3, "tcp");
    try {
      awaitEqualSums(ranks);
      killed(ranks, 1, r -> "Rank 1 died");
    } finally {
      ranks.forEach(RankProcess::close);
    }
  }

  /**
   * Killed before the fourth barrier, before the first, and having told one of three of another.
   */
  @ParameterizedTest
  @CsvSource({"2, 1, 3", "4, 2, 0", "4, 3, 10"})
  void aRankKilledInTheMidstOfSharedMemoryIsNamedAndLeavesNothingBehind(
      int size, int victim, int afterTold) throws Exception {
    List<RankProcess> ranks = RankProcess.startAndStop(size, victim, afterTold);
    try {
      assertEquals("stands", ranks.get(victim).line());
      List<String> shared = sharedMemory(ranks.get(victim).pid());
      assertEquals(1, shared.size(), shared.toString());
      assertTrue(shared.getFirst().endsWith(" (deleted)"), shared.getFirst());
      killed(ranks, victim, r -> "Rank " + victim + " died");
    } finally {
      ranks.forEach(RankProcess::close);
    }
  }

  /** The files by which a process shares memory, as the system names them. */
  private static List<String> sharedMemory(long pid) throws IOException {
    try (Stream<String> maps = Files.lines(Path.of("/proc", Long.toString(pid), "maps"))) {
      return maps.filter(m -> m.matches(".*/millrace-[0-9a-f]{16}( .*)?"))
          .map(m -> m.substring(m.indexOf('/')))
          .distinct()
          .toList();
    }
  }

  @Test
  void aRankKilledWhileARingReducesInSharedMemoryIsNamed() throws Exception {
    List<RankProcess> ranks = RankProcess.start(3, "shared_memory");
    try {
      awaitEqualSums(ranks);
      killed(ranks, 2, r -> "Rank 2 died");
    } finally {
      ranks.forEach(RankProcess::close);
    }
  }

  @Test
  void soIsRankZeroWhichHoldsTheJobTogether() throws Exception {
    List<RankProcess> ranks = RankProcess.start(3, "auto");
    try {
      awaitEqualSums(ranks);
      killed(ranks, 0, r -> "Rank " + r + " lost the job's coordinator");
    } finally {
      ranks.forEach(RankProcess::close);
    }
  }

  @Test
  void aStoppedRankIsNamedByAllOthers() throws Exception {
    List<RankProcess> ranks = RankProcess.start(2, "unix", 6);
    try {
      awaitEqualSums(ranks);
      long start = System.nanoTime();
      String pid = Long.toString(ranks.get(1).pid());
      assertEquals(0, new ProcessBuilder("kill", "-STOP", pid).start().waitFor());
      // After 6 s of silence.
      assertNamed(ranks.get(0), "Rank 1 at 127.0.0.1");
      double seconds = (System.nanoTime() - start) / 1e9;
      assertTrue(seconds < SILENCE_SECONDS, "named after " + seconds + " s");
    } finally {
      ranks.forEach(RankProcess::close);
    }
  }

  @Test
  void ranksThatAreDoneLeaveWithoutAnError() throws Exception {
    List<RankProcess> ranks = RankProcess.start(2, "auto");
    try {
      awaitEqualSums(ranks);
      assertEquals(0, ranks.get(0).finish());
      assertEquals(0, ranks.get(1).finish());
    } finally {
      ranks.forEach(RankProcess::close);
    }
  }

  /** Waits until all ranks have reduced their first tensors; all must have the same bits. */
  private static void awaitEqualSums(List<RankProcess> ranks) {
    String first = ranks.getFirst().line();
    assertNotNull(first);
    assertTrue(first.startsWith("sum "), first);
    for (RankProcess r : ranks.subList(1, ranks.size())) {
      assertEquals(first, r.line());
    }
  }

  /** Kills a rank; each of the others says in time what that is to it. */
  private static void killed(List<RankProcess> ranks, int victim, IntFunction<String> said) {
    try (ProcessorClock clock = new ProcessorClock()) {
      ranks.get(victim).kill();
      for (int r = 0; r < ranks.size(); r++) {
        if (r != victim) {
          assertNamed(ranks.get(r), said.apply(r));
          double seconds = clock.seconds();
          assertTrue(seconds < PROMISED_SECONDS, "named after " + seconds + " s");
        }
      }
    }
  }

  private static void assertNamed(RankProcess rank, String text) {
    String line = rank.line();
    assertNotNull(line);
    assertTrue(line.startsWith("UNAVAILABLE " + text), line);
  }
}
