package dev.millrace.cluster.http2;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.proto.DeviceAttributes;
import dev.millrace.proto.ListDevicesResponse;
import io.grpc.Drainable;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MessageMarshallerTest {
  private static final MessageMarshaller<ListDevicesResponse> MARSHALLER =
      new MessageMarshaller<>(ListDevicesResponse.getDefaultInstance());

  private static ListDevicesResponse message(int devices) {
    ListDevicesResponse.Builder b = ListDevicesResponse.newBuilder();
    for (int i = 0; i < devices; i++) {
      b.addLocalDevice(DeviceAttributes.newBuilder().setName("/job:ps/task:" + i));
    }
    return b.build();
  }

  /** None, one that is read in one piece, one that is read in parts. */
  @ParameterizedTest
  @ValueSource(ints = {0, 3, 20_000})
  void whatIsSentIsReceived(int devices) throws IOException {
    ListDevicesResponse sent = message(devices);
    InputStream drained = MARSHALLER.stream(sent);
    assertEquals(sent.getSerializedSize(), drained.available());
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    assertEquals(sent.getSerializedSize(), ((Drainable) drained).drainTo(bytes));
    assertEquals(0, drained.available());
    assertArrayEquals(sent.toByteArray(), bytes.toByteArray());

    assertEquals(sent, MARSHALLER.parse(MARSHALLER.stream(sent)), "length known");
    assertEquals(sent, MARSHALLER.parse(new ByteArrayInputStream(bytes.toByteArray())), "unknown");
  }

  @Test
  void aStreamCanBeReadInPartThenDrained() throws IOException {
    ListDevicesResponse sent = message(2);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    InputStream in = MARSHALLER.stream(sent);
    bytes.write(in.read());
    bytes.write(in.readNBytes(2));
    assertEquals(sent.getSerializedSize() - 3, ((Drainable) in).drainTo(bytes));
    assertArrayEquals(sent.toByteArray(), bytes.toByteArray());
  }

  @Test
  void damagedBytesAreRefused() {
    byte[] bytes = message(2).toByteArray();
    bytes[1] = 100;
    StatusRuntimeException e =
        assertThrows(
            StatusRuntimeException.class, () -> MARSHALLER.parse(new ByteArrayInputStream(bytes)));
    assertEquals(Status.Code.INTERNAL, e.getStatus().getCode());
    assertTrue(e.getMessage().contains("damaged"), e.getMessage());
  }
}
