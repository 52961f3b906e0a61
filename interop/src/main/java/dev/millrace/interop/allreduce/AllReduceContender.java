package dev.millrace.interop.allreduce;

import java.io.IOException;

/** Something that reduces, in processes of its own. */
interface AllReduceContender extends AutoCloseable {
  String name();

  /** Seconds per all-reduce of so many bytes, found within about {@code seconds}. */
  double run(long bytes, double seconds) throws IOException;

  @Override
  void close();
}
