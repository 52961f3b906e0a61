package dev.millrace.train.data;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.base.MillraceException;
import dev.millrace.fuzz.Fuzzing;
import dev.millrace.proto.Example;
import dev.millrace.proto.Feature;
import dev.millrace.proto.Features;
import dev.millrace.proto.FloatList;
import dev.millrace.proto.Int64List;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Records of any bytes are read as examples or refused. */
class ExampleFeatureFuzzTest {
  private static final List<ExampleFeature> FEATURES =
      List.of(
          ExampleFeature.of("f", DType.FLOAT, Shape.scalar()),
          ExampleFeature.of("i", DType.INT64, Shape.of(2)));

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
    Tensor record = Tensor.ofObjects(DType.STRING, Shape.scalar(), new Object[] {bytes});
    try {
      Elements.release(ExampleFeature.parse(new Tensor[] {record}, FEATURES));
    } catch (MillraceException e) {
      // Refused.
    }
  }
}
