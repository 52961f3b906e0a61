package dev.millrace.collective.simulated;

import dev.millrace.simulation.SeededRuns;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rings on a simulated network, with faults that the seed chooses. */
@Isolated
class SimulatedRingTest {
  private static final int JOBS = 700;
  private static final int REPEATED = 70;

  @Test
  void everyOperationEndsRightOrWithANamedCause() {
    SeededRuns.run(1, JOBS, REPEATED, seed -> new SimulatedRingJob(seed).run());
  }

  /**
   * Seeds that have found something: 10, a rank that called a stalled connection a wrong token;
   * 283, a connection that the coordinator left open when it ended.
   */
  @ParameterizedTest
  @ValueSource(longs = {10, 283})
  void whatHasFailedBeforeDoesNotFailAgain(long seed) {
    SeededRuns.run(seed, 1, 1, s -> new SimulatedRingJob(s).run());
  }
}
