package dev.millrace.job;

import com.fasterxml.jackson.jr.ob.JSON;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.AtomicFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * How a job ended.
 *
 * @param step the global step at the end
 * @param metrics the figures on the evaluation data, by name; empty if nothing was evaluated
 * @param seconds how long this process trained
 */
public record JobResult(
    String job,
    String mode,
    long step,
    long steps,
    Map<String, Double> metrics,
    double seconds,
    Outcome outcome) {
  /** Why training ended. */
  public enum Outcome {
    /** All steps were made. */
    OK,

    /** The model no longer got better. */
    EARLY,

    /** The job was told to stop before its last step. */
    STOPPED;

    /** The word in the JSON. */
    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** The file in the folder of the job. */
  public static final String FILE = "result.json";

  /** The figures in one line. */
  public String line() {
    StringBuilder line = new StringBuilder(job + ": step " + step + "/" + steps);
    if (outcome == Outcome.EARLY) {
      line.append(" (early)");
    }
    metrics.forEach(
        (name, value) -> line.append(String.format(Locale.ROOT, "  %s %.4f", name, value)));
    return line.toString();
  }

  /** The result as JSON; a figure that is not a number is null. */
  public String json() {
    Map<String, Object> figures = new LinkedHashMap<>();
    metrics.forEach((name, value) -> figures.put(name, Double.isFinite(value) ? value : null));
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("job", job);
    all.put("mode", mode);
    all.put("outcome", outcome.toString());
    all.put("step", step);
    all.put("steps", steps);
    all.put("seconds", seconds);
    all.put("metrics", figures);
    try {
      return JSON.std.with(JSON.Feature.PRETTY_PRINT_OUTPUT).asString(all);
    } catch (IOException e) {
      throw MillraceException.of(e);
    }
  }

  /** Writes the JSON to the folder of the job. */
  void write(Path folder) {
    AtomicFile.write(folder.resolve(FILE), (json() + "\n").getBytes(StandardCharsets.UTF_8));
  }
}
