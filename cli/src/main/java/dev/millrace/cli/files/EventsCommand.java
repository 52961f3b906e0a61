package dev.millrace.cli.files;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cli.text.Amount;
import dev.millrace.cli.text.CommandOutput;
import dev.millrace.cli.text.Plot;
import dev.millrace.dashboard.watch.Scalars;
import dev.millrace.dashboard.watch.Scalars.Point;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Shows the curves of a training run. */
@Command(
    name = "events",
    description = "Plot the scalars of event files in the terminal, or print them as CSV.",
    showDefaultValues = true,
    footer = {
      "",
      "Examples:",
      "  millrace events logs",
      "  millrace events logs --tag loss --csv > loss.csv",
    })
public final class EventsCommand implements Callable<Integer> {
  @Mixin CommandOutput report;

  @Parameters(
      paramLabel = "PLACE",
      description = "An event file, or a folder with some in it or below it.")
  Path place;

  @Option(
      names = "--tag",
      paramLabel = "TAG",
      description = "Only tags with this in their names; may be given several times.")
  List<String> tags = new ArrayList<>();

  @Option(names = "--csv", description = "Print run, tag, step, time and value of every point.")
  boolean csv;

  @Option(names = "--width", description = "Columns of a plot.")
  int width = 80;

  @Option(names = "--height", description = "Lines of a plot.")
  int height = 12;

  @Override
  public Integer call() {
    if (width < 1 || height < 1) {
      throw MillraceException.invalid(
          "--width is %d and --height %d; both must be at least 1.", width, height);
    }
    Map<Scalars.Key, List<Point>> all = new TreeMap<>(Scalars.read(place).series());
    List<String> known = all.keySet().stream().map(Scalars.Key::tag).distinct().toList();
    all.keySet().removeIf(k -> !tags.isEmpty() && tags.stream().noneMatch(k.tag()::contains));
    if (all.isEmpty()) {
      throw new MillraceException(
          Code.NOT_FOUND,
          known.isEmpty()
              ? "The event files in " + place + " have no scalars."
              : "No tag contains any of " + tags + "; there are " + known + ".");
    }
    if (report.json) {
      report.json(all.entrySet().stream().map(e -> facts(e.getKey(), e.getValue())).toList());
    } else if (csv) {
      printCsv(all);
    } else {
      all.forEach(this::plot);
    }
    return 0;
  }

  private static Map<String, Object> facts(Scalars.Key key, List<Point> points) {
    Map<String, Object> f = new LinkedHashMap<>();
    f.put("run", key.run());
    f.put("tag", key.tag());
    f.put("steps", points.stream().map(Point::step).toList());
    f.put("times", points.stream().map(Point::time).toList());
    f.put("values", points.stream().map(Point::value).toList());
    return f;
  }

  private void printCsv(Map<Scalars.Key, List<Point>> all) {
    PrintWriter out = report.out();
    out.println("run,tag,step,time,value");
    all.forEach(
        (key, points) -> {
          String start = cell(key.run()) + "," + cell(key.tag()) + ",";
          for (Point p : points) {
            String time = java.math.BigDecimal.valueOf(p.time()).toPlainString();
            out.println(start + p.step() + "," + time + "," + (float) p.value());
          }
        });
  }

  private static String cell(String s) {
    return s.matches("[^,\"\r\n]*") ? s : "\"" + s.replace("\"", "\"\"") + "\"";
  }

  private void plot(Scalars.Key key, List<Point> points) {
    Point last = points.getLast();
    report
        .out()
        .printf(
            "%s: %s at step %d, %d points%n",
            key, Amount.number(last.value()), last.step(), points.size());
    double[] xs = points.stream().mapToDouble(Point::step).toArray();
    double[] ys = points.stream().mapToDouble(Point::value).toArray();
    new Plot(xs, ys).print(report.out(), width, height);
    report.out().println();
  }
}
