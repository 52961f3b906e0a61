package dev.millrace.collective;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.collective.testing.RankProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Ranks in processes of their own. */
@Timeout(180)
@Execution(ExecutionMode.CONCURRENT)
class ProcessesTest {
  /**
   * In this time the death of a process is noticed by its connections, on however busy a machine;
   * silence and operations that do not move are waited for longer.
   */
  private static final double AT_ONCE_SECONDS = 30;

  @Test
  void aKilledRankIsNamedByAllOthersAtOnce() throws Exception {
    List<RankProcess> ranks = RankProcess.start(3, "tcp");
    try {
      awaitEqualSums(ranks);
      long start = System.nanoTime();
      ranks.get(1).kill();
      for (int r : new int[] {0, 2}) {
        assertNamed(ranks.get(r), "UNAVAILABLE Rank 1 died", start);
      }
    } finally {
      ranks.forEach(RankProcess::close);
    }
  }

  /**
   * Killed before the fourth meeting, before the first, and having told one of three of another.
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
      long start = System.nanoTime();
      ranks.get(victim).kill();
      for (int r = 0; r < size; r++) {
        if (r != victim) {
          assertNamed(ranks.get(r), "UNAVAILABLE Rank " + victim + " died", start);
        }
      }
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
      long start = System.nanoTime();
      ranks.get(2).kill();
      for (int r : new int[] {0, 1}) {
        assertNamed(ranks.get(r), "UNAVAILABLE Rank 2 died", start);
      }
    } finally {
      ranks.forEach(RankProcess::close);
    }
  }

  @Test
  void soIsRankZeroWhichHoldsTheJobTogether() throws Exception {
    List<RankProcess> ranks = RankProcess.start(3, "auto");
    try {
      awaitEqualSums(ranks);
      long start = System.nanoTime();
      ranks.get(0).kill();
      for (int r : new int[] {1, 2}) {
        assertNamed(ranks.get(r), "UNAVAILABLE Rank " + r + " lost the job's coordinator", start);
      }
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
      assertNamed(ranks.get(0), "UNAVAILABLE Rank 1 at 127.0.0.1", start);
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

  private static void assertNamed(RankProcess rank, String start, long sinceNanos) {
    String line = rank.line();
    double seconds = (System.nanoTime() - sinceNanos) / 1e9;
    assertNotNull(line);
    assertTrue(line.startsWith(start), line);
    assertTrue(seconds < AT_ONCE_SECONDS, "named after " + seconds + " s");
  }
}
