package dev.millrace.cluster.http2;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.ExtensionRegistryLite;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import io.grpc.Drainable;
import io.grpc.KnownLength;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/**
 * Protobuf's messages as gRPC sends and receives them. gRPC's own marshaller brings three more jars
 * to every program that uses Millrace.
 *
 * <p>Threading: any thread; a stream belongs to one.
 */
public final class MessageMarshaller<M extends Message> implements MethodDescriptor.Marshaller<M> {
  /** Messages up to this size are read in one piece. */
  private static final int SMALL_BYTES = 64 << 10;

  private final Parser<M> parser;

  /** For messages of the type of {@code any}. */
  @SuppressWarnings("unchecked") // A message's parser makes messages of its class.
  public MessageMarshaller(M any) {
    parser = (Parser<M>) any.getParserForType();
  }

  @Override
  public InputStream stream(M message) {
    return new MessageStream(message);
  }

  @Override
  public M parse(InputStream in) {
    try {
      int known = in instanceof KnownLength ? in.available() : Integer.MAX_VALUE;
      CodedInputStream coded =
          known <= SMALL_BYTES
              ? CodedInputStream.newInstance(in.readNBytes(known))
              : CodedInputStream.newInstance(in);
      // gRPC has checked the size.
      coded.setSizeLimit(Integer.MAX_VALUE);
      M message = parser.parseFrom(coded, ExtensionRegistryLite.getEmptyRegistry());
      coded.checkLastTagWas(0);
      return message;
    } catch (InvalidProtocolBufferException e) {
      throw Status.INTERNAL
          .withDescription("The bytes of a message are damaged: " + e.getMessage())
          .withCause(e)
          .asRuntimeException();
    } catch (IOException e) {
      throw Status.INTERNAL
          .withDescription("Cannot read a message: " + e.getMessage())
          .withCause(e)
          .asRuntimeException();
    }
  }

  /** The bytes of a message, which exist only if they are read rather than drained. */
  private static final class MessageStream extends InputStream implements Drainable, KnownLength {
    /** Null once the bytes exist or are written. */
    private Message message;

    private ByteArrayInputStream bytes = new ByteArrayInputStream(new byte[0]);

    MessageStream(Message message) {
      this.message = message;
    }

    @Override
    public int drainTo(OutputStream target) throws IOException {
      if (message == null) {
        return (int) bytes.transferTo(target);
      }
      int size = message.getSerializedSize();
      message.writeTo(target);
      message = null;
      return size;
    }

    @Override
    public int available() {
      return message == null ? bytes.available() : message.getSerializedSize();
    }

    @Override
    public int read() {
      return bytes().read();
    }

    @Override
    public int read(byte[] target, int offset, int length) {
      return bytes().read(target, offset, length);
    }

    private ByteArrayInputStream bytes() {
      if (message != null) {
        bytes = new ByteArrayInputStream(message.toByteArray());
        message = null;
      }
      return bytes;
    }
  }
}
