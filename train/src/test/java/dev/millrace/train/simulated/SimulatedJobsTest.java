package dev.millrace.train.simulated;

import dev.millrace.simulation.SeededRuns;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Jobs of parameter servers and workers on a simulated network, with faults that the seed chooses.
 */
@Isolated
class SimulatedJobsTest {
  private static final int JOBS = 300;
  private static final int REPEATED = 30;

  /**
   * With those of SimulatedRingTest, a thousand jobs. Seeds that have found something: 4, a step
   * that failed as its master left, which stayed for ten minutes; 10, a worker that failed instead
   * of ending when it gave back a token after the chief had ended; 12, a parameter server that
   * looked again and again in the very moment in which its wait was over; 36, a task that went on
   * when it could not listen for links.
   */
  @Test
  @Timeout(value = 10, unit = TimeUnit.MINUTES)
  void everyJobEndsAndNoUpdateIsLostOrDoubled() {
    SeededRuns.run(1, JOBS, REPEATED, s -> new SimulatedJob(s).run());
  }
}
