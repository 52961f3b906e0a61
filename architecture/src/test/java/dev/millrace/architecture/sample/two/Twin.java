package dev.millrace.architecture.sample.two;

/** Breaks rules: uses its twin, which uses it. */
public final class Twin {
  /** Returns another. */
  public dev.millrace.architecture.sample.one.Twin other() {
    return new dev.millrace.architecture.sample.one.Twin(this);
  }
}
