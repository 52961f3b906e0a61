package dev.millrace.train.simulated;

import dev.millrace.simulation.SeededRuns;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Jobs of parameter servers and workers on a simulated network, with faults that the seed chooses.
 */
@Isolated
class SimulatedJobsTest {
  /** Each takes seconds; -Dmillrace.seed runs another job in place of each. */
  @ParameterizedTest
  @ValueSource(longs = {1, 4})
  void everyJobEndsAndNoUpdateIsLostOrDoubled(long seed) {
    SeededRuns.run(seed, 1, 0, s -> new SimulatedJob(s).run());
  }

  /**
   * Seeds that have found something: 10, a worker that failed instead of ending when it gave back a
   * token after the chief had ended; 36, a task that went on when it could not listen for links.
   */
  @ParameterizedTest
  @ValueSource(longs = {10, 36})
  void whatHasFailedBeforeDoesNotFailAgain(long seed) {
    SeededRuns.run(seed, 1, 0, s -> new SimulatedJob(s).run());
  }

  @ParameterizedTest
  @ValueSource(longs = 10)
  void theSameSeedGivesTheSameHistory(long seed) {
    SeededRuns.run(seed, 1, 1, s -> new SimulatedJob(s).run());
  }
}
