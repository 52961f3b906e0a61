package dev.millrace.collective.algorithm;

/** Something that waits for other ranks and can say what for. */
interface PendingWait {
  /** What is missing, from whom, in words that fit "has waited 30 s for ...". */
  String missing();

  /** Whether something is missing from this rank, which others may have had already. */
  boolean waitsFor(int rank);
}
