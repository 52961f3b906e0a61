package dev.millrace.interop.allreduce;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Something that reduces, in processes of its own. */
interface Contender extends AutoCloseable {
  String name();

  /** Seconds per all-reduce, by size in bytes. */
  Map<Long, Double> run(List<Long> sizes, double seconds) throws IOException;

  @Override
  void close();
}
