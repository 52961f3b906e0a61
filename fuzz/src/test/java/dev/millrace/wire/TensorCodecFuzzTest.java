package dev.millrace.wire;

import static org.junit.jupiter.api.Assertions.assertThrows;

import com.code_intelligence.jazzer.junit.FuzzTest;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.MillraceException;
import dev.millrace.fuzz.Fuzzing;
import dev.millrace.proto.DataType;
import dev.millrace.proto.TensorProto;
import dev.millrace.proto.TensorShapeProto;
import dev.millrace.proto.VariantTensorDataProto;
import dev.millrace.tensor.Shape;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Messages of any bytes are read as tensors or refused. */
class TensorCodecFuzzTest {
  private static final double MOST_ELEMENTS = 1 << 22;

  private static TensorProto.Builder proto(DataType type) {
    return TensorProto.newBuilder().setDtype(type).setTensorShape(TensorCodec.encode(Shape.of(3)));
  }

  static Stream<byte[]> seeds() {
    return Stream.of(
        proto(DataType.DT_FLOAT).addFloatVal(1).build().toByteArray(),
        proto(DataType.DT_INT64)
            .setTensorContent(ByteString.copyFrom(new byte[24]))
            .build()
            .toByteArray(),
        proto(DataType.DT_STRING).addStringVal(ByteString.copyFromUtf8("a")).build().toByteArray(),
        proto(DataType.DT_VARIANT)
            .addVariantVal(
                VariantTensorDataProto.newBuilder().setTypeName("tensorflow::TensorList"))
            .build()
            .toByteArray());
  }

  /** Few values may stand for a large tensor, by TensorFlow's rules: right, but slow to fill. */
  private static boolean isLarge(TensorProto p) {
    double elements = 1;
    for (TensorShapeProto.Dim d : p.getTensorShape().getDimList()) {
      elements *= d.getSize();
    }
    return (elements > MOST_ELEMENTS && elements < Long.MAX_VALUE)
        || p.getVariantValList().stream()
            .flatMap(v -> v.getTensorsList().stream())
            .anyMatch(TensorCodecFuzzTest::isLarge);
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void parse(byte[] bytes) {
    try {
      if (!isLarge(TensorProto.parseFrom(bytes))) {
        TensorCodec.parse(bytes).close();
      }
    } catch (InvalidProtocolBufferException e) {
      assertThrows(MillraceException.class, () -> TensorCodec.parse(bytes));
    } catch (MillraceException e) {
      // Refused.
    }
  }
}
