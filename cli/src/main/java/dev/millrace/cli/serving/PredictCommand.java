package dev.millrace.cli.serving;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.serving.Prediction;
import dev.millrace.serving.Predictor;
import dev.millrace.serving.model.ModelSignature;
import dev.millrace.serving.model.TensorSpec;
import dev.millrace.serving.rest.PredictAnswer;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Predicts for the rows of a CSV file. */
@Command(
    name = "predict",
    description = {
      "Predict with a SavedModel for the rows of a CSV file whose header names the model's inputs.",
      "The predictions go to standard output, a line for each row."
    },
    footer = {
      "",
      "Examples:",
      "  millrace predict logs/export/3000 data/test.csv > predictions.csv",
      "  millrace predict --json --with-inputs models/click/7 data/test.csv",
    })
public final class PredictCommand implements Callable<Integer> {
  @Spec CommandSpec spec;

  @Parameters(paramLabel = "FOLDER", description = "The folder with saved_model.pb.")
  Path folder;

  @Parameters(
      paramLabel = "CSV",
      description = "The rows, with a header; - for the standard input.")
  String csv;

  @Option(
      names = "--signature",
      paramLabel = "NAME",
      defaultValue = "",
      description = "The signature to ask; the default one without this.")
  String signature;

  @Option(
      names = "--separator",
      paramLabel = "CHARACTER",
      defaultValue = ",",
      description = "What separates the fields; for a tab, TAB. Default: a comma.")
  String separator;

  @Option(
      names = "--batch-rows",
      paramLabel = "ROWS",
      defaultValue = "256",
      description = "The rows of a call of the model. Default: ${DEFAULT-VALUE}.")
  int batchRows;

  @Option(names = "--json", description = "Write a line of JSON for each row instead of CSV.")
  boolean json;

  @Option(names = "--with-inputs", description = "Repeat the columns of the row (CSV only).")
  boolean withInputs;

  @Override
  public Integer call() throws IOException {
    if (json && withInputs) {
      throw MillraceException.invalid("--with-inputs is for CSV; leave it or --json out.");
    }
    char fields = separator.equals("TAB") ? '\t' : separator.charAt(0);
    long start = Timers.system().now();
    try (Predictor predictor = Predictor.load(folder);
        CsvTable table = new CsvTable(csv, fields)) {
      ModelSignature s = predictor.signature(signature);
      InputColumns columns = new InputColumns(s, table.header());
      PrintWriter err = spec.commandLine().getErr();
      if (!columns.unused().isEmpty() && !withInputs) {
        err.println("Not inputs of the model, so not used: " + columns.unused() + ".");
      }
      long rows = predict(predictor, s, columns, table);
      double seconds = Timers.system().since(start) / 1e9;
      err.printf(Locale.ROOT, "%d rows in %.1f s, %.0f rows/s.%n", rows, seconds, rows / seconds);
      err.flush();
      return 0;
    }
  }

  private long predict(Predictor predictor, ModelSignature s, InputColumns columns, CsvTable table)
      throws IOException {
    PrintWriter out = spec.commandLine().getOut();
    long rows = 0;
    boolean first = true;
    while (true) {
      InputColumns.Rows batch = columns.new Rows();
      List<List<String>> kept = new ArrayList<>();
      String begin = null;
      List<String> row;
      while (batch.count() < batchRows && (row = table.next()) != null) {
        begin = begin == null ? table.place() : begin;
        try {
          batch.add(row);
        } catch (MillraceException e) {
          throw e.withMessage(table.place() + ": " + e.getMessage());
        }
        kept.add(withInputs ? row : List.of());
      }
      if (batch.count() == 0) {
        break;
      }
      Map<String, Tensor> inputs = batch.tensors();
      try (Prediction p = predictor.predict(s.name(), inputs)) {
        write(out, s, p, table.header(), kept, first);
      } catch (MillraceException e) {
        throw e.withMessage(
            "Of the " + batch.count() + " rows from " + begin + " on: " + e.getMessage());
      } finally {
        inputs.values().forEach(Tensor::close);
      }
      first = false;
      rows += batch.count();
    }
    out.flush();
    return rows;
  }

  private void write(
      PrintWriter out,
      ModelSignature s,
      Prediction p,
      List<String> header,
      List<List<String>> rows,
      boolean first)
      throws IOException {
    List<Tensor> outputs = s.outputs().stream().map(o -> p.get(o.name())).toList();
    for (int i = 0; i < outputs.size(); i++) {
      Tensor t = outputs.get(i);
      if (t.shape().rank() == 0 || t.shape().dim(0) != rows.size()) {
        throw MillraceException.invalid(
            "output '%s' has shape %s, which has no row for each of %d rows of the file",
            s.outputs().get(i).name(), t.shape(), rows.size());
      }
    }
    if (json) {
      writeJson(out, s, outputs);
      return;
    }
    if (first) {
      out.println(
          String.join(",", header(s, outputs, rows.size(), withInputs ? header : List.of())));
    }
    for (int r = 0; r < rows.size(); r++) {
      List<String> line = new ArrayList<>(rows.get(r).stream().map(PredictCommand::field).toList());
      for (Tensor t : outputs) {
        long per = t.elements() / rows.size();
        for (long k = 0; k < per; k++) {
          line.add(field(text(t, r * per + k)));
        }
      }
      out.println(String.join(",", line));
    }
  }

  private static List<String> header(
      ModelSignature s, List<Tensor> outputs, int rows, List<String> before) {
    List<String> names = new ArrayList<>(before.stream().map(PredictCommand::field).toList());
    for (int i = 0; i < outputs.size(); i++) {
      TensorSpec o = s.outputs().get(i);
      long per = outputs.get(i).elements() / rows;
      for (long k = 0; k < per; k++) {
        names.add(field(per == 1 ? o.name() : o.name() + "[" + k + "]"));
      }
    }
    return names;
  }

  private static String text(Tensor t, long i) {
    DType d = t.dtype();
    return switch (d) {
      case FLOAT, HALF, BFLOAT16 -> Float.toString((float) t.doubleAt(i));
      case DOUBLE -> Double.toString(t.doubleAt(i));
      case STRING -> t.stringAt(i);
      case BOOL -> Boolean.toString(t.booleanAt(i));
      default -> Long.toString(t.longAt(i));
    };
  }

  private static String field(String text) {
    boolean plain = text.chars().noneMatch(c -> c == ',' || c == '"' || c == '\n' || c == '\r');
    return plain ? text : '"' + text.replace("\"", "\"\"") + '"';
  }

  private static void writeJson(PrintWriter out, ModelSignature s, List<Tensor> outputs)
      throws IOException {
    try (JsonGenerator g = new JsonFactory().createGenerator(out)) {
      g.disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);
      g.setRootValueSeparator(new com.fasterxml.jackson.core.io.SerializedString("\n"));
      PredictAnswer.writeRows(g, s, outputs.toArray(new Tensor[0]));
    }
    out.println();
  }
}
