package dev.millrace.cluster.http2;

import com.code_intelligence.jazzer.junit.FuzzTest;
import com.google.protobuf.ByteString;
import dev.millrace.base.MillraceException;
import dev.millrace.fuzz.Fuzzing;
import dev.millrace.proto.DataType;
import dev.millrace.proto.RecvTensorResponse;
import dev.millrace.proto.TensorProto;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.wire.TensorCodec;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Answers of any bytes, in pieces of any size, are read or refused. */
class IncomingTensorFuzzTest {
  private static byte[] seed(int floats) {
    byte[] message =
        RecvTensorResponse.newBuilder()
            .setTensor(
                TensorProto.newBuilder()
                    .setDtype(DataType.DT_FLOAT)
                    .setTensorShape(TensorCodec.encode(Shape.of(floats)))
                    .setTensorContent(ByteString.copyFrom(new byte[4 * floats])))
            .setSendStartMicros(3)
            .build()
            .toByteArray();
    return ByteBuffer.allocate(6 + message.length)
        .put((byte) 9)
        .put((byte) 0)
        .putInt(message.length)
        .put(message)
        .array();
  }

  static Stream<byte[]> seeds() {
    return Stream.of(seed(2), seed(5000));
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void take(byte[] bytes) {
    IncomingTensor in = new IncomingTensor();
    try {
      int piece = bytes.length == 0 ? 1 : 1 + (bytes[0] & 0xFF) * 16;
      for (int at = 1; at < bytes.length; at += piece) {
        in.take(ByteBuffer.wrap(bytes, at, Math.min(piece, bytes.length - at)));
      }
      ReceivedTensor r = in.end();
      if (r.value() != null) {
        Refs.release(r.value());
      }
    } catch (IOException | MillraceException e) {
      // Refused.
    } finally {
      in.release();
    }
  }
}
