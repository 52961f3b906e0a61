package dev.millrace.train.data.record;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.base.MillraceException;
import dev.millrace.fuzz.Fuzzing;
import dev.millrace.proto.Example;
import dev.millrace.proto.Feature;
import dev.millrace.proto.Features;
import dev.millrace.proto.FloatList;
import dev.millrace.proto.Int64List;
import dev.millrace.tensor.DType;
import dev.millrace.train.data.RowBuffer;
import dev.millrace.train.data.column.Cells;
import dev.millrace.train.data.column.Column;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Records of any bytes are read as examples or refused. */
class ExampleParserFuzzTest {
  private static final List<Column> COLUMNS =
      List.of(Column.of("f", DType.FLOAT), Column.list("i", DType.INT64, 2));

  static Stream<byte[]> seeds() {
    return Stream.of(
        Example.newBuilder()
            .setFeatures(
                Features.newBuilder()
                    .putFeature(
                        "f",
                        Feature.newBuilder()
                            .setFloatList(FloatList.newBuilder().addValue(1))
                            .build())
                    .putFeature(
                        "i",
                        Feature.newBuilder()
                            .setInt64List(Int64List.newBuilder().addValue(1).addValue(2))
                            .build()))
            .build()
            .toByteArray());
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void parse(byte[] bytes) {
    for (RecordParser parser :
        List.of(
            ExampleParser.ofExamples(COLUMNS),
            ExampleParser.ofSequences(List.of(), COLUMNS.subList(1, 2)))) {
      Cells cells = new Cells(parser.types());
      try (RowBuffer rows = new RowBuffer(1)) {
        cells.open(rows, 1);
        parser.parse(bytes, 0, bytes.length, cells, 0);
      } catch (MillraceException e) {
        // Refused.
      }
    }
  }
}
