package dev.millrace.interop.bench;

import dev.millrace.base.MillraceException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** What was measured: a table for each question as soon as it is answered, and JSON in the end. */
public final class BenchReport {
  private final PrintStream out;
  private final List<String> answers = new ArrayList<>();
  private final TreeSet<String> absent = new TreeSet<>();

  /** A report whose tables go to {@code out}. */
  public BenchReport(PrintStream out) {
    this.out = out;
  }

  /** A question is answered; the ratios are those to the first contender. */
  public void add(String question, List<Match.Result> results) {
    if (results.isEmpty()) {
      return;
    }
    Match.print(out, question, results);
    double first = results.getFirst().stepsPerSecond();
    answers.add(
        "{\"question\": %s, \"contenders\": [\n    %s]}"
            .formatted(
                quoted(question),
                results.stream()
                    .map(r -> json(r, r.stepsPerSecond() / first))
                    .collect(Collectors.joining(",\n    "))));
  }

  /** Somebody could not take part; {@code why} says what is missing and how to get it. */
  public void absent(String why) {
    if (absent.add(why)) {
      out.println("absent: " + why);
    }
  }

  private static String json(Match.Result r, double ratio) {
    List<Double> rates = r.samples().stream().map(Sample::stepsPerSecond).sorted().toList();
    return String.format(
        Locale.ROOT,
        "{\"name\": %s, \"stepsPerSecond\": %s, \"min\": %s, \"max\": %s, \"medianMicros\": %s,"
            + " \"p99Micros\": %s, \"peakBytes\": %d, \"ratio\": %s}",
        quoted(r.name()),
        number(r.stepsPerSecond()),
        number(rates.getFirst()),
        number(rates.getLast()),
        number(r.medianMicros()),
        number(r.p99Micros()),
        r.samples().getLast().peakBytes(),
        number(ratio));
  }

  private static String number(double v) {
    return Double.isFinite(v) ? Double.toString(v) : "null";
  }

  private static String quoted(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
  }

  /** Writes all of it as JSON. */
  public void writeTo(Path file) {
    String text =
        "{\"questions\": [\n  %s],\n\"absent\": [%s]}\n"
            .formatted(
                String.join(",\n  ", answers),
                absent.stream().map(BenchReport::quoted).collect(Collectors.joining(", ")));
    try {
      Files.writeString(file, text);
    } catch (IOException e) {
      throw MillraceException.invalid("The results cannot be written to %s: %s", file, e);
    }
  }
}
