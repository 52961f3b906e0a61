package dev.millrace.base;

import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.DoubleSupplier;

/**
 * Figures that the parts of a program show, such as the staleness of a worker's gradients. Each
 * context has its own; the server in it reports them to {@code millrace status}.
 *
 * <p>Threading: any thread.
 */
public final class Gauges {
  private final Map<String, DoubleSupplier> shown = new ConcurrentHashMap<>();
  private final Map<String, String> notes = new ConcurrentHashMap<>();

  /** Shows {@code value} under {@code name} from now on, in place of what was shown there. */
  public void show(String name, DoubleSupplier value) {
    shown.put(name, value);
  }

  /** Says {@code text} under {@code name} from now on, in place of what was said there. */
  public void note(String name, String text) {
    notes.put(name, text);
  }

  /** What is said now. */
  public SortedMap<String, String> notes() {
    return new TreeMap<>(notes);
  }

  /** What is shown, as it is now. */
  public SortedMap<String, Double> now() {
    SortedMap<String, Double> values = new TreeMap<>();
    shown.forEach((name, value) -> values.put(name, value.getAsDouble()));
    return values;
  }
}
