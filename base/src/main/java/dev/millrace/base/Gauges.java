package dev.millrace.base;

import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.DoubleSupplier;

/**
 * Figures that parts of this process show to whoever asks how it is, such as the staleness of a
 * worker's gradients. The server of a task tells them to {@code millrace status}.
 *
 * <p>Threading: any thread.
 */
public final class Gauges {
  private static final Map<String, DoubleSupplier> SHOWN = new ConcurrentHashMap<>();

  private Gauges() {}

  /** Shows {@code value} under {@code name} from now on, in place of what was shown there. */
  public static void show(String name, DoubleSupplier value) {
    SHOWN.put(name, value);
  }

  /** What is shown, as it is now. */
  public static SortedMap<String, Double> now() {
    SortedMap<String, Double> values = new TreeMap<>();
    SHOWN.forEach((name, value) -> values.put(name, value.getAsDouble()));
    return values;
  }
}
