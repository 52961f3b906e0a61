package dev.millrace.train.data.csv;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.base.MillraceException;
import dev.millrace.fuzz.Fuzzing;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Elements;
import dev.millrace.train.data.column.Column;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** CSV files of any bytes are read or refused. */
class CsvFilesFuzzTest {
  private static final Path FILE = Fuzzing.newFile("lines.csv");

  private static final CsvSchema PLAIN =
      CsvSchema.of(
          Column.of("f", DType.FLOAT),
          Column.of("i", DType.INT32).orElse("-1"),
          Column.of("s", DType.STRING));

  /** Every way of reading; the first byte of the input chooses one. */
  private static final List<CsvSchema> SCHEMAS =
      List.of(PLAIN, PLAIN.withHeader(), PLAIN.withLineBreaks(), PLAIN.unquoted());

  private static byte[] seed(int schema, String text) {
    return Fuzzing.joined(new byte[] {(byte) schema}, text.getBytes(StandardCharsets.UTF_8));
  }

  static Stream<byte[]> seeds() {
    return Stream.of(
        seed(0, "1.5,2,a\n-1e3, 7 ,\"b \"\"c\"\"\"\r\n"),
        seed(1, "\"s\",x,i,f\na,b,,2\n"),
        seed(2, "1,2,\"a\nb\"\n"),
        seed(3, "1,2,\"\n"));
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void read(byte[] bytes) throws IOException {
    int choice = bytes.length == 0 ? 0 : bytes[0] & 0xFF;
    Files.write(FILE, Fuzzing.part(bytes, 1, bytes.length));
    CsvSchema schema = SCHEMAS.get(choice % SCHEMAS.size());
    try (Elements rows = CsvFiles.read(schema, List.of(FILE)).elements()) {
      for (Tensor[] row = rows.next(); row != null; row = rows.next()) {
        Elements.release(row);
      }
    } catch (MillraceException e) {
      // Refused.
    }
  }
}
