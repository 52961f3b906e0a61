package dev.millrace.parquet;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

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

  private Dataset data(String format) throws IOException {
    Path parquet = folder.resolve("data.parquet");
    try (InputStream in = ExactlyOnceTest.class.getResourceAsStream("zstd.parquet")) {
      Files.copy(in, parquet);
    }
    Dataset rows = ParquetFiles.read(COLUMNS, List.of(parquet));
    if (format.equals("parquet")) {
      return rows;
    }
    // The same rows in two files of the other formats.
    List<Path> files = List.of(folder.resolve("data-1"), folder.resolve("data-2"));
    for (int f = 0; f < 2; f++) {
      StringBuilder lines = new StringBuilder();
      try (Elements e = rows.shard(2, f).elements();
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
   * in the middle of one after {@code steps}: what was taken in that step was not trained.
   */
  private void train(Dataset data, int workers, int steps, int[][] seen) {
    InputLedger ledger = InputLedger.of(table, workers);
    table[ledger.header() * InputLedger.COLUMNS] = workers;
    for (int w = 0; w < workers; w++) {
      Dataset mine = new DealtData(data, ledger, w).batch(4, false).prefetch(2);
      try (Elements e = mine.elements()) {
        e.seek(ledger.position(w));
        long epoch = e.position()[0];
        for (int s = 0; s < steps && epoch < EPOCHS; s++) {
          Tensor[] batch = e.next();
          long[] position = e.position();
          // A batch may end one epoch and begin another; its last element is in the later one.
          for (long i = 0; i < batch[0].elements(); i++) {
            long left = position[0] > epoch ? batch[0].elements() - position[1] : 1L << 30;
            int in = (int) (i < left ? epoch : position[0]);
            seen[in][(int) batch[0].longAt(i)]++;
            assertEquals("text of number " + batch[0].longAt(i), batch[1].stringAt(i));
          }
          Elements.release(batch);
          epoch = position[0];
          System.arraycopy(position, 0, table, ledger.row(w) * InputLedger.COLUMNS, 2);
        }
        Tensor[] killed = e.next();
        Elements.release(killed);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"csv,1", "csv,2", "parquet,3", "parquet,4", "tfrecord,5", "tfrecord,6"})
  void everyRowIsTrainedOnceInEveryEpoch(String format, long seed) throws IOException {
    SplittableRandom random = new SplittableRandom(seed);
    Dataset data = data(format).shuffle(64, seed);
    int[][] seen = new int[EPOCHS + 2][ROWS];
    for (int run = 0; run < 400 && Arrays.stream(seen[EPOCHS - 1]).sum() < ROWS; run++) {
      train(data, 1 + random.nextInt(5), 1 + random.nextInt(9), seen);
    }
    int[] once = new int[ROWS];
    Arrays.fill(once, 1);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
      assertArrayEquals(once, seen[epoch], "epoch " + epoch);
    }
  }
}
