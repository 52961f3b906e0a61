package dev.millrace.parquet;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.millrace.job.input.DealtData;
import dev.millrace.job.input.InputLedger;
import dev.millrace.proto.BytesList;
import dev.millrace.proto.Example;
import dev.millrace.proto.Feature;
import dev.millrace.proto.Features;
import dev.millrace.proto.Int64List;
import dev.millrace.storage.record.RecordWriter;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.data.csv.CsvFiles;
import dev.millrace.train.data.csv.CsvSchema;
import dev.millrace.train.data.record.RecordFiles;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Jobs that are killed and go on with another number of workers, as often as it comes: every row of
 * the data is trained once in every epoch, whatever the files are.
 */
class ExactlyOnceTest {
  private static final int ROWS = 300;
  private static final int EPOCHS = 3;
  private static final List<Column> COLUMNS =
      List.of(Column.of("n", DType.INT64), Column.of("text", DType.STRING));

  @TempDir Path folder;

  /** What the checkpoint of the job has. */
  private final long[] table = new long[InputLedger.ROWS * InputLedger.COLUMNS];

  private Dataset data(String format, int count) throws IOException {
    Path parquet = folder.resolve("data.parquet");
    try (InputStream in = ExactlyOnceTest.class.getResourceAsStream("zstd.parquet")) {
      Files.copy(in, parquet);
    }
    Dataset rows = ParquetFiles.read(COLUMNS, List.of(parquet));
    if (format.equals("parquet")) {
      return rows;
    }
    // The same rows in some files of the other formats, which are the parts of the data.
    List<Path> files = new ArrayList<>();
    for (int f = 0; f < count; f++) {
      files.add(folder.resolve("data-" + f));
      StringBuilder lines = new StringBuilder();
      try (Elements e = rows.shard(count, f).elements();
          RecordWriter records = RecordWriter.create(files.get(f))) {
        for (Tensor[] row = e.next(); row != null; row = e.next()) {
          long n = row[0].longValue();
          String text = row[1].stringValue();
          lines.append(n).append(",\"").append(text).append("\"\n");
          records.write(example(n, text));
          Elements.release(row);
        }
      }
      if (format.equals("csv")) {
        Files.writeString(files.get(f), lines);
      }
    }
    return format.equals("csv")
        ? CsvFiles.read(CsvSchema.of(COLUMNS), files)
        : RecordFiles.examples(COLUMNS, files);
  }

  private static byte[] example(long n, String text) {
    BytesList bytes = BytesList.newBuilder().addValue(ByteString.copyFromUtf8(text)).build();
    return Example.newBuilder()
        .setFeatures(
            Features.newBuilder()
                .putFeature(
                    "n",
                    Feature.newBuilder().setInt64List(Int64List.newBuilder().addValue(n)).build())
                .putFeature("text", Feature.newBuilder().setBytesList(bytes).build()))
        .build()
        .toByteArray();
  }

  /**
   * Lets {@code workers} workers take batches in turns, saves after every step, and kills the job
   * in the middle of one after {@code steps}: what was taken in that step was not trained. Returns
   * whether all workers have come to the end of the last epoch.
   */
  private boolean train(Dataset data, int workers, int steps, long epochs, int[] seen) {
    InputLedger ledger = InputLedger.of(table, workers, DealtData.parts(data, 0).size());
    write(ledger.headerRow(), ledger.header());
    boolean done = true;
    for (int w = 0; w < workers; w++) {
      Dataset mine = new DealtData(data, ledger, w, epochs).batch(4, false).prefetch(2);
      try (Elements e = mine.elements()) {
        e.seek(ledger.position(w));
        Tensor[] batch = e.next();
        for (int s = 0; s < steps && batch != null; s++) {
          for (long i = 0; i < batch[0].elements(); i++) {
            seen[(int) batch[0].longAt(i)]++;
            assertEquals("text of number " + batch[0].longAt(i), batch[1].stringAt(i));
          }
          Elements.release(batch);
          write(e.position(), ledger.row(w));
          batch = e.next();
        }
        done &= batch == null;
        if (batch != null) {
          Elements.release(batch);
        }
      }
    }
    return done;
  }

  private void write(long[] values, int row) {
    System.arraycopy(values, 0, table, row * InputLedger.COLUMNS, InputLedger.COLUMNS);
  }

  @ParameterizedTest
  @CsvSource({
    "csv,1,2",
    "csv,2,7",
    "csv,7,1",
    "parquet,3,1",
    "parquet,4,1",
    "tfrecord,5,7",
    "tfrecord,6,2"
  })
  void everyRowIsTrainedOnceInEveryEpoch(String format, long seed, int files) throws IOException {
    SplittableRandom random = new SplittableRandom(seed);
    Dataset data = data(format, files).shuffle(64, seed);
    int[] seen = new int[ROWS];
    for (int epoch = 1; epoch <= EPOCHS; epoch++) {
      int runs = 0;
      while (!train(data, 1 + random.nextInt(5), 1 + random.nextInt(9), epoch, seen)) {
        assertTrue(++runs < 400, "epoch " + epoch + " does not end");
      }
      int[] times = new int[ROWS];
      Arrays.fill(times, epoch);
      assertArrayEquals(times, seen, "epoch " + epoch);
    }
  }
}
