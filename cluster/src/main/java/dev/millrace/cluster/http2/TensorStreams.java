package dev.millrace.cluster.http2;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Rendezvous;
import dev.millrace.proto.RecvTensorRequest;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import io.grpc.netty.shaded.io.grpc.netty.GrpcHttp2ConnectionHandler;
import io.grpc.netty.shaded.io.grpc.netty.InternalProtocolNegotiator;
import io.grpc.netty.shaded.io.netty.buffer.ByteBuf;
import io.grpc.netty.shaded.io.netty.buffer.Unpooled;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelPromise;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2ConnectionAdapter;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2Exception;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2FrameListener;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2FrameListenerDecorator;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2Headers;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2Stream;
import io.grpc.netty.shaded.io.netty.util.AsciiString;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;

/**
 * Answers RecvTensor on a connection of gRPC's, whose other calls pass. gRPC would copy a tensor
 * twice before it sends the first byte; here the socket is written from the tensor's own memory.
 *
 * <p>Threading: the connection's event loop, except for what comes from the worker.
 */
public final class TensorStreams extends Http2FrameListenerDecorator {
  /** The worker's side of RecvTensor. */
  public interface Source {
    /**
     * Gives the tensor to {@code receiver} once it is there, unless the request is cancelled
     * before; must not block.
     */
    void serve(RecvTensorRequest request, Rendezvous.Receiver receiver, Cancellation cancellation);
  }

  private static final AsciiString PATH =
      AsciiString.of("/" + GrpcMethods.RECV_TENSOR.getFullMethodName());
  private static final AsciiString POST = AsciiString.of("POST");
  private static final AsciiString CONTENT_TYPE = AsciiString.of("content-type");
  private static final AsciiString GRPC = AsciiString.of("application/grpc");
  private static final int PIECE_BYTES = 4 << 20;
  private static final int LONGEST_REQUEST = 64 << 10;

  private final GrpcHttp2ConnectionHandler handler;
  private final Http2ConnectionEncoder encoder;
  private final Source source;

  /** What has come of the requests that are not complete yet, by stream. */
  private final Map<Integer, ByteArrayOutputStream> requests = new HashMap<>();

  /** Cancellations of the requests being served, by stream. */
  private final Map<Integer, Cancellation> served = new HashMap<>();

  private final StalledReader stalls;

  private TensorStreams(
      GrpcHttp2ConnectionHandler handler,
      Http2FrameListener others,
      Source source,
      CallLimits.Shared limits) {
    super(others);
    stalls = new StalledReader(limits.context);
    this.handler = handler;
    this.encoder = handler.encoder();
    this.source = source;
    handler
        .connection()
        .addListener(
            new Http2ConnectionAdapter() {
              @Override
              public void onStreamClosed(Http2Stream stream) {
                closed(stream.id());
              }
            });
  }

  /** Connections without encryption, within limits, on which {@code source} answers RecvTensor. */
  public static InternalProtocolNegotiator.ProtocolNegotiator plaintext(
      Source source, CallLimits.Shared limits) {
    return CallLimits.plaintext(
        limits, (handler, others) -> new TensorStreams(handler, others, source, limits));
  }

  @Override
  public void onHeadersRead(
      ChannelHandlerContext ctx, int stream, Http2Headers headers, int padding, boolean end)
      throws Http2Exception {
    if (!begins(ctx, stream, headers, end)) {
      super.onHeadersRead(ctx, stream, headers, padding, end);
    }
  }

  @Override
  public void onHeadersRead(
      ChannelHandlerContext ctx,
      int stream,
      Http2Headers headers,
      int dependency,
      short weight,
      boolean exclusive,
      int padding,
      boolean end)
      throws Http2Exception {
    if (!begins(ctx, stream, headers, end)) {
      super.onHeadersRead(ctx, stream, headers, dependency, weight, exclusive, padding, end);
    }
  }

  private boolean begins(ChannelHandlerContext ctx, int stream, Http2Headers headers, boolean end) {
    CharSequence type = headers.get(CONTENT_TYPE);
    boolean ours =
        headers.path() != null
            && PATH.contentEquals(headers.path())
            && POST.contentEquals(String.valueOf(headers.method()))
            && type != null
            && AsciiString.of(type).startsWith(GRPC);
    if (ours) {
      requests.put(stream, new ByteArrayOutputStream(256));
      if (end) {
        ended(ctx, stream);
      }
    }
    return ours;
  }

  @Override
  public int onDataRead(
      ChannelHandlerContext ctx, int stream, ByteBuf data, int padding, boolean end)
      throws Http2Exception {
    ByteArrayOutputStream request = requests.get(stream);
    if (request == null) {
      return super.onDataRead(ctx, stream, data, padding, end);
    }
    int n = data.readableBytes();
    if (request.size() + n > LONGEST_REQUEST) {
      requests.remove(stream);
      fail(
          ctx,
          stream,
          new MillraceException(
              Code.RESOURCE_EXHAUSTED,
              "A RecvTensor request of more than " + LONGEST_REQUEST + " bytes."));
    } else {
      try {
        data.readBytes(request, n);
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
      if (end) {
        ended(ctx, stream);
      }
    }
    return n + padding;
  }

  /** Handles the end of a stream: answered, reset by the peer, or closed with the connection. */
  private void closed(int stream) {
    requests.remove(stream);
    Cancellation c = served.remove(stream);
    if (c != null) {
      c.cancel(new MillraceException(Code.CANCELLED, "The call is over.").asDerived());
    }
  }

  private void ended(ChannelHandlerContext ctx, int stream) {
    byte[] bytes = requests.remove(stream).toByteArray();
    RecvTensorRequest request;
    try {
      request = parse(bytes);
    } catch (MillraceException e) {
      fail(ctx, stream, e);
      return;
    }
    Cancellation cancellation = new Cancellation();
    served.put(stream, cancellation);
    source.serve(
        request,
        new Rendezvous.Receiver() {
          @Override
          public void received(Tensor value, boolean dead) {
            onLoop(ctx, () -> answer(ctx, stream, value, dead));
          }

          @Override
          public void failed(MillraceException cause) {
            onLoop(ctx, () -> fail(ctx, stream, cause));
          }
        },
        cancellation);
  }

  private static RecvTensorRequest parse(byte[] bytes) {
    int prefix = TensorResponse.PREFIX;
    if (bytes.length < prefix
        || bytes[0] != 0
        || ByteBuffer.wrap(bytes, 1, 4).getInt() != bytes.length - prefix) {
      throw MillraceException.invalid(
          "A RecvTensor request must be one message that is not compressed; found %d bytes.",
          bytes.length);
    }
    try {
      return RecvTensorRequest.parseFrom(ByteBuffer.wrap(bytes, prefix, bytes.length - prefix));
    } catch (InvalidProtocolBufferException e) {
      throw MillraceException.invalid("A RecvTensor request could not be read: %s", e.getMessage());
    }
  }

  private static void onLoop(ChannelHandlerContext ctx, Runnable action) {
    if (ctx.executor().inEventLoop()) {
      action.run();
    } else {
      ctx.executor().execute(action);
    }
  }

  /** Whether whoever asked is still there to be answered. */
  private boolean isOpen(ChannelHandlerContext ctx, int stream) {
    return ctx.channel().isActive() && handler.connection().stream(stream) != null;
  }

  private void answer(ChannelHandlerContext ctx, int stream, Tensor value, boolean dead) {
    if (!isOpen(ctx, stream)) {
      if (value != null) {
        Refs.release(value);
      }
      return;
    }
    TensorResponse response;
    try {
      response = dead ? TensorResponse.ofDead() : TensorResponse.of(value);
    } catch (MillraceException e) {
      fail(ctx, stream, e);
      return;
    }
    Http2Headers headers = new DefaultHttp2Headers().status("200").set(CONTENT_TYPE, GRPC);
    encoder.writeHeaders(ctx, stream, headers, 0, false, ctx.newPromise());
    ByteBuf head = Unpooled.wrappedBuffer(response.head());
    encoder.writeData(ctx, stream, head, 0, false, ctx.newPromise());
    Tensor t = response.elements();
    if (t != null && t.byteSize() == 0) {
      Refs.release(t);
    } else if (t != null) {
      writeElements(ctx, stream, t);
    }
    Http2Headers trailers = new DefaultHttp2Headers().set("grpc-status", "0");
    encoder.writeHeaders(ctx, stream, trailers, 0, true, ctx.newPromise());
    ctx.channel().flush();
  }

  /** In pieces, each of which shows as it leaves that the other side still reads. */
  private void writeElements(ChannelHandlerContext ctx, int stream, Tensor t) {
    ByteBuf all = new TensorBytes(ctx.alloc(), t);
    for (int n = 0; all.isReadable(); all.skipBytes(n)) {
      n = Math.min(PIECE_BYTES, all.readableBytes());
      stalls.begins(ctx);
      ChannelPromise left = ctx.newPromise().addListener(done -> stalls.ended());
      encoder.writeData(ctx, stream, all.retainedSlice(all.readerIndex(), n), 0, false, left);
    }
    all.release();
  }

  private void fail(ChannelHandlerContext ctx, int stream, MillraceException cause) {
    if (!isOpen(ctx, stream)) {
      return;
    }
    Http2Headers trailers =
        new DefaultHttp2Headers()
            .status("200")
            .set(CONTENT_TYPE, GRPC)
            .set("grpc-status", Integer.toString(cause.code().number()))
            .set(
                "grpc-message",
                GrpcErrors.percentEncoded(GrpcErrors.cut(GrpcErrors.message(cause))))
            .set(GrpcErrors.ANSWERED.name(), "yes");
    encoder.writeHeaders(ctx, stream, trailers, 0, true, ctx.newPromise());
    ctx.channel().flush();
  }
}
