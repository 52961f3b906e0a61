package dev.millrace.job.input;

import dev.millrace.base.MillraceException;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * How many elements the parts of some data have. Parts that do not know it are read once.
 *
 * <p>Threading: one thread.
 */
public final class PartSizes {
  private final Dataset data;
  private final Map<Dataset, Long> counted = new HashMap<>();

  /** Those of {@code data}. */
  public PartSizes(Dataset data) {
    this.data = data;
  }

  /** The sizes of the parts of an epoch. */
  public long[] of(long epoch) {
    return DealtData.parts(data, epoch).stream().mapToLong(this::size).toArray();
  }

  private long size(Dataset part) {
    if (part.knownSize().isPresent()) {
      return part.knownSize().getAsLong();
    }
    // Parts of a shuffle are other ones in other epochs, but equal.
    return counted.computeIfAbsent(part, PartSizes::count);
  }

  private static long count(Dataset data) {
    try (Elements elements = data.elements()) {
      return Elements.skip(elements, Long.MAX_VALUE);
    }
  }

  /**
   * About how many elements an epoch of {@code data} has. If it has several parts and does not know
   * it, the first of them is read, since they are about equally large.
   */
  public static long about(Dataset data) {
    if (data.knownSize().isPresent()) {
      return checked(data.knownSize().getAsLong());
    }
    List<Dataset> parts = DealtData.parts(data, 0);
    long known = 0;
    long unknown = 0;
    Dataset first = null;
    for (Dataset part : parts) {
      if (part.knownSize().isPresent()) {
        known += part.knownSize().getAsLong();
      } else {
        first = first == null ? part : first;
        unknown++;
      }
    }
    long some = first == null ? 0 : count(first);
    // The first part may be an empty file, which says nothing of the others.
    return checked(known + unknown * (parts.size() > 1 ? Math.max(1, some) : some));
  }

  private static long checked(long size) {
    if (size == 0) {
      throw MillraceException.invalid("The training data is empty.");
    }
    return size;
  }
}
