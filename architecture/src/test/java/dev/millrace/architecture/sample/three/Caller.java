package dev.millrace.architecture.sample.three;

import dev.millrace.architecture.sample.two.Twin;

/** Breaks rules inside a nested class; its package is in no cycle. */
public final class Caller {
  public final Twin twin = new Twin();

  static final class Nested {
    static String sleep() throws InterruptedException {
      Thread.sleep(1);
      return System.getProperty("user.name");
    }
  }
}
