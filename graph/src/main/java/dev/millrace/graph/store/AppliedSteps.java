package dev.millrace.graph.store;

import dev.millrace.graph.resource.StepIdentity;
import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The last committed step of each training session.
 *
 * <p>Threading: any thread; one at a time adds.
 */
final class AppliedSteps {
  /** Sessions that are remembered; of more, those whose last step is oldest are forgotten. */
  private static final int MOST = 4096;

  /** A step and the number of its commit. */
  private record Applied(int number, long commit) {}

  private final Map<Integer, Applied> last = new ConcurrentHashMap<>();

  /**
   * Whether the step was committed later than commit {@code floor}, or a later one of its session.
   */
  boolean has(StepIdentity step, long floor) {
    Applied a = last.get(step.session());
    return a != null && a.commit > floor && step.isUpTo(a.number);
  }

  void add(StepIdentity step, long commit) {
    Applied before = last.get(step.session());
    if (before == null || !step.isUpTo(before.number)) {
      last.put(step.session(), new Applied(step.number(), commit));
    }
    if (last.size() > MOST) {
      last.entrySet().stream()
          .min(Comparator.comparingLong(e -> e.getValue().commit))
          .ifPresent(e -> last.remove(e.getKey()));
    }
  }

  void write(RecordBytes record) {
    record.put(last.size());
    last.forEach((session, a) -> record.put(session.intValue()).put(a.number).put(a.commit));
  }

  void read(ByteBuffer from) {
    for (int n = from.getInt(); n > 0; n--) {
      int session = from.getInt();
      last.put(session, new Applied(from.getInt(), from.getLong()));
    }
  }
}
