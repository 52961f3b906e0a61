package dev.millrace.architecture.sample.one;

import java.util.function.LongSupplier;

/** Breaks rules: uses its twin, which uses it, and the clock. */
public final class Twin {
  public final dev.millrace.architecture.sample.two.Twin other;
  public final LongSupplier clock = System::nanoTime;

  public Twin(dev.millrace.architecture.sample.two.Twin other) {
    this.other = other;
  }
}
