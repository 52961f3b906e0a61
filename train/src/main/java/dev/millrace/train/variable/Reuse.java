package dev.millrace.train.variable;

/** Whether asking for a variable makes a new one or finds one made before. */
public enum Reuse {
  /** Makes a new one; one of that name must not exist. */
  NEW,
  /** Finds the one that exists; it must. */
  EXISTING,
  /** Finds the one that exists or makes a new one. */
  AUTO
}
