package dev.millrace.collective.algorithm;

/** Something that waits for other ranks and can say what for. */
@FunctionalInterface
interface Stage {
  /** What is missing, from whom, in words that fit "has waited 30 s for ...". */
  String missing();
}
