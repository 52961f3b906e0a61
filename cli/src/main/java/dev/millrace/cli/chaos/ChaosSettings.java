package dev.millrace.cli.chaos;

import dev.millrace.job.Mode;
import java.util.Locale;

/**
 * What is run and what is done to it.
 *
 * @param kills how many processes are killed
 * @param pauses the share of faults that are pauses, beside the kills
 */
record ChaosSettings(
    Mode mode, Durability durability, int ps, int workers, int kills, double pauses, long seed) {
  /** What the state of a parameter server outlives. */
  enum Durability {
    MEMORY,
    PROCESS;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }
}
