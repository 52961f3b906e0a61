package dev.millrace.parquet;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.base.MillraceException;
import dev.millrace.fuzz.Fuzzing;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Elements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Parquet files of any bytes are read or refused. */
class ParquetFilesFuzzTest {
  private static final Path FILE = Fuzzing.newFile("rows.parquet");
  private static final Path SAMPLES = Path.of("../parquet/src/test/resources/dev/millrace/parquet");

  static Stream<byte[]> seeds() {
    return Stream.of("none", "snappy", "v2", "delta").map(ParquetFilesFuzzTest::sample);
  }

  private static byte[] sample(String name) {
    try {
      return Files.readAllBytes(SAMPLES.resolve(name + ".parquet"));
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void read(byte[] bytes) throws IOException {
    Files.write(FILE, bytes);
    try (Elements rows =
        ParquetFiles.read(ParquetFiles.columns(FILE), List.of(FILE)).batch(64, false).elements()) {
      for (Tensor[] batch = rows.next(); batch != null; batch = rows.next()) {
        Elements.release(batch);
      }
    } catch (MillraceException e) {
      // Refused.
    }
  }
}
