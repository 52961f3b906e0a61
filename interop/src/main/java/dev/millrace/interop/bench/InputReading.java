package dev.millrace.interop.bench;

import com.sun.management.OperatingSystemMXBean;
import dev.millrace.base.Timers;
import dev.millrace.interop.ChildProcess;
import dev.millrace.interop.PythonTensorFlow;
import dev.millrace.parquet.ParquetFiles;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.data.csv.CsvFiles;
import dev.millrace.train.data.csv.CsvSchema;
import dev.millrace.train.data.record.RecordFiles;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Reads a file of Criteo-shaped rows, a label, 13 numbers and 26 words, in batches of 4,096, again
 * and again. What is counted as steps per second are rows per second of CPU time, of all threads.
 */
public final class InputReading {
  /** The formats; also how the files end. */
  public static final List<String> FORMATS = List.of("csv", "parquet", "tfrecord");

  private static final int BATCH = 4096;
  private static final int ROWS = 200_000;
  private static final Duration WRITING = Duration.ofMinutes(5);
  private static final String SCRIPT = "input.py";

  private InputReading() {}

  /** Writes the files of all formats. */
  public static void write(Path folder) {
    List<String> arguments = List.of("write", folder.toString(), Integer.toString(ROWS));
    PythonTensorFlow.find().run(SCRIPT, arguments, WRITING);
  }

  /** The tf.data of Python. */
  public static Contender tensorFlow(String format, Path folder) {
    List<String> arguments = List.of("read", format, folder.toString());
    List<String> command = PythonTensorFlow.find().command(SCRIPT, arguments);
    return ContenderProcess.of(ChildProcess.start("tf.data", command, Map.of()));
  }

  /** Millrace's datasets. */
  public static Contender millrace(String format, Path folder) {
    List<String> options = List.of("-XX:+UseSerialGC", "-Xmx512m");
    return ContenderProcess.start(options, Reader.class, List.of(format, folder.toString()));
  }

  private static Dataset dataset(String format, Path folder) {
    List<Column> columns = new ArrayList<>();
    columns.add(Column.of("label", DType.INT64));
    columns.add(Column.vector("I", DType.FLOAT, "I", 1, 13).orElse("0"));
    for (int i = 1; i <= 26; i++) {
      columns.add(Column.of("C" + i, DType.STRING));
    }
    List<Path> file = List.of(folder.resolve("criteo." + format));
    return switch (format) {
      case "csv" -> CsvFiles.read(CsvSchema.of(columns).withHeader(), file);
      case "parquet" -> ParquetFiles.read(columns, file);
      default -> RecordFiles.examples(columns, file);
    };
  }

  /** The process of Millrace. Arguments: format and folder. */
  public static final class Reader implements ContenderProcess.Maker {
    private static final OperatingSystemMXBean SYSTEM =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    @Override
    public Contender make(List<String> arguments) {
      Dataset batches =
          dataset(arguments.get(0), Path.of(arguments.get(1))).batch(BATCH, false).prefetch(2);
      return new Contender() {
        @Override
        public String name() {
          return "Millrace";
        }

        @Override
        public Sample run(Duration duration) {
          long[] rows = new long[1];
          long cpu = SYSTEM.getProcessCpuTime();
          long start = Timers.system().now();
          Sample one = Sample.of(() -> rows[0] += passage(batches), duration);
          double wall = Timers.system().now() - start;
          double perCpuSecond = rows[0] * 1e9 / (SYSTEM.getProcessCpuTime() - cpu);
          double micros = wall / 1e3 * BATCH / rows[0];
          return new Sample(perCpuSecond, micros, Double.NaN, one.peakBytes());
        }

        @Override
        public void close() {
          // A passage ends its thread and closes its file.
        }
      };
    }

    private static long passage(Dataset batches) {
      long rows = 0;
      try (Elements e = batches.elements()) {
        for (Tensor[] batch = e.next(); batch != null; batch = e.next()) {
          rows += batch[0].elements();
          Elements.release(batch);
        }
      }
      return rows;
    }
  }
}
