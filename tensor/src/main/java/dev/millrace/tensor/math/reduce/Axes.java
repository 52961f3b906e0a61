package dev.millrace.tensor.math.reduce;

import dev.millrace.tensor.Shape;
import java.util.ArrayList;
import java.util.List;

/** The axes of a reduction, neighbours that are treated alike taken as one. */
record Axes(List<Axis> all) {
  /** So many elements, all reduced to one or all kept. */
  record Axis(long size, boolean reduced) {}

  /** The reduction of the middle one of three axes. */
  record Step(long outer, long size, long inner) {}

  static Axes of(Shape shape, boolean[] reduced) {
    List<Axis> axes = new ArrayList<>();
    for (int d = 0; d < reduced.length; d++) {
      add(axes, new Axis(shape.dim(d), reduced[d]));
    }
    return new Axes(axes);
  }

  private static void add(List<Axis> axes, Axis next) {
    if (next.size == 1) {
      return;
    }
    Axis last = axes.isEmpty() ? null : axes.getLast();
    if (last != null && last.reduced == next.reduced) {
      axes.set(axes.size() - 1, new Axis(last.size * next.size, next.reduced));
    } else {
      axes.add(next);
    }
  }

  boolean isReducing() {
    for (Axis a : all) {
      if (a.reduced) {
        return true;
      }
    }
    return false;
  }

  /** How many elements become one. */
  long reducedElements() {
    long n = 1;
    for (Axis a : all) {
      n *= a.reduced ? a.size : 1;
    }
    return n;
  }

  /** These axes with one of a single element, to be reduced, after them. */
  Axes withUnitAxis() {
    List<Axis> more = new ArrayList<>(all);
    more.add(new Axis(1, true));
    return new Axes(more);
  }

  /** The last axis to be reduced, between all before and all after it. */
  Step lastStep() {
    int i = lastReduced();
    return new Step(product(0, i), all.get(i).size, product(i + 1, all.size()));
  }

  /** What is left when the last step is done. */
  Axes afterLastStep() {
    int i = lastReduced();
    List<Axis> left = new ArrayList<>();
    for (int k = 0; k < all.size(); k++) {
      if (k != i) {
        add(left, all.get(k));
      }
    }
    return new Axes(left);
  }

  private int lastReduced() {
    for (int i = all.size() - 1; ; i--) {
      if (all.get(i).reduced) {
        return i;
      }
    }
  }

  private long product(int from, int to) {
    long n = 1;
    for (int i = from; i < to; i++) {
      n *= all.get(i).size;
    }
    return n;
  }
}
