package dev.millrace.graph.store;

import dev.millrace.graph.resource.StepIdentity;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * How many changes of a variable each step has made that has not been committed. A repeated step
 * makes its changes in the same order, so the first of them are left out.
 *
 * <p>Threading: the methods that change it run while the variable is locked for writing, the others
 * while it is locked.
 */
final class StepMarks {
  private static final int MOST = 64;

  /** The changes by one step of one session. */
  private static final class Mark {
    final StepIdentity step;
    int made;

    /** The attempts at it in this process, and how many changes each has asked for. */
    final List<long[]> attempts = new ArrayList<>(1);

    Mark(StepIdentity step) {
      this.step = step;
    }

    long[] attempt(long stepId) {
      for (long[] a : attempts) {
        if (a[0] == stepId) {
          return a;
        }
      }
      long[] a = {stepId, 0};
      attempts.add(a);
      return a;
    }
  }

  private final List<Mark> marks = new ArrayList<>(2);

  private Mark of(int session) {
    for (Mark m : marks) {
      if (m.step.session() == session) {
        return m;
      }
    }
    return null;
  }

  /** Whether an attempt is to make its next change, rather than to leave it out. */
  boolean admits(StepIdentity step, long stepId) {
    Mark m = of(step.session());
    if (m != null && m.step.number() != step.number()) {
      if (step.isUpTo(m.step.number())) {
        return false;
      }
      marks.remove(m);
      m = null;
    }
    if (m == null) {
      if (marks.size() == MOST) {
        marks.removeFirst();
      }
      m = new Mark(step);
      marks.add(m);
    }
    return m.attempt(stepId)[1]++ >= m.made;
  }

  /** The change that was admitted last has been made. */
  void made(StepIdentity step) {
    Mark m = of(step.session());
    if (m != null && m.step.number() == step.number()) {
      m.made++;
    }
  }

  void clear() {
    marks.clear();
  }

  /** Adds the marks of steps other than {@code committed} to a record. */
  void write(RecordBytes record, AppliedSteps applied, StepIdentity committed, long floor) {
    List<Mark> open =
        marks.isEmpty()
            ? List.of()
            : marks.stream()
                .filter(m -> m.made > 0 && !m.step.equals(committed))
                .filter(m -> !applied.has(m.step, floor))
                .toList();
    record.put(open.size());
    for (Mark m : open) {
      record.put(m.step.session()).put(m.step.number()).put(m.made);
    }
  }

  void read(ByteBuffer from) {
    marks.clear();
    for (int n = from.getInt(); n > 0; n--) {
      Mark m = new Mark(new StepIdentity(from.getInt(), from.getInt()));
      m.made = from.getInt();
      marks.add(m);
    }
  }
}
