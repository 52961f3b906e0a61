package dev.millrace.interop.bench;

import java.time.Duration;

/** One runtime doing one thing again and again. Made ready by its constructor, ended by close. */
public interface Contender extends AutoCloseable {
  /** What stands in the table, such as {@code TensorFlow 2.18, 1 thread}. */
  String name();

  /** Runs steps for about this long. */
  Sample run(Duration duration);

  @Override
  void close();
}
