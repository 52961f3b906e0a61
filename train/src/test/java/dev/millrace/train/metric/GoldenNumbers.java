package dev.millrace.train.metric;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** Rows of numbers with names, as a Python script beside them wrote them. */
public final class GoldenNumbers {
  private final Map<String, double[]> rows = new HashMap<>();

  /** Those of the resource {@code name} beside {@code owner}. */
  public GoldenNumbers(Class<?> owner, String name) {
    try (InputStream in = owner.getResourceAsStream(name)) {
      for (String line : new String(in.readAllBytes(), StandardCharsets.UTF_8).split("\n")) {
        String[] words = line.split(" ");
        rows.put(words[0], Arrays.stream(words).skip(1).mapToDouble(Double::parseDouble).toArray());
      }
    } catch (IOException e) {
      throw new AssertionError(name, e);
    }
  }

  /** The row of a name. */
  public double[] row(String name) {
    if (!rows.containsKey(name)) {
      throw new AssertionError("no row " + name);
    }
    return rows.get(name);
  }

  /** The only number of a row. */
  public double number(String name) {
    if (row(name).length != 1) {
      throw new AssertionError(name + " has " + row(name).length + " numbers");
    }
    return row(name)[0];
  }
}
