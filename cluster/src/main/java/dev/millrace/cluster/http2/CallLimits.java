package dev.millrace.cluster.http2;

import dev.millrace.base.Code;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.spec.ServerLimits;
import io.grpc.netty.shaded.io.grpc.netty.GrpcHttp2ConnectionHandler;
import io.grpc.netty.shaded.io.grpc.netty.InternalProtocolNegotiator;
import io.grpc.netty.shaded.io.grpc.netty.InternalProtocolNegotiators;
import io.grpc.netty.shaded.io.netty.buffer.ByteBuf;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandler;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2ConnectionAdapter;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2Error;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2Exception;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2FrameListener;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2FrameListenerDecorator;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2Headers;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2Settings;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2Stream;
import io.grpc.netty.shaded.io.netty.util.AsciiString;
import java.net.SocketAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Enforces {@link ServerLimits} on the HTTP/2 frames of a gRPC connection. gRPC has one size limit
 * for the messages of all methods, and no limit on the time a request takes to arrive.
 *
 * <p>Threading: the connection's event loop.
 */
public final class CallLimits extends Http2FrameListenerDecorator {
  private static final Logger LOG = LoggerFactory.getLogger(CallLimits.class);

  /** The average rate below which a request that has used up its time limit is refused. */
  private static final int BYTES_PER_SECOND = 1 << 10;

  private static final AsciiString ENCODING = AsciiString.of("grpc-encoding");

  /** The methods whose messages carry tensors or graphs. */
  private static final Set<String> LARGE =
      Stream.of(
              GrpcMethods.CREATE_SESSION,
              GrpcMethods.EXTEND_SESSION,
              GrpcMethods.RUN_STEP,
              GrpcMethods.RUN_CALLABLE,
              GrpcMethods.REGISTER_GRAPH,
              GrpcMethods.RUN_GRAPH)
          .map(m -> "/" + m.getFullMethodName())
          .collect(Collectors.toUnmodifiableSet());

  /** The limits of a server, and what its connections use of them together. */
  public static final class Shared {
    private final ServerLimits limits;

    /** Whether the connection to an address holds sessions. */
    private final Predicate<SocketAddress> holds;

    /** The context of the server; the threads of gRPC run in none. */
    final Context context = Context.current();

    private final AtomicLong pendingBytes = new AtomicLong();

    public Shared(ServerLimits limits, Predicate<SocketAddress> holds) {
      this.limits = limits;
      this.holds = holds;
    }
  }

  /** A call of which at least the headers have arrived. */
  private static final class PendingRequest {
    final String path;
    final long beganNanos;
    long bytes;
    final boolean large;
    boolean whole;

    PendingRequest(String path, long nowNanos) {
      this.beganNanos = nowNanos;
      this.path = path;
      this.large = LARGE.contains(path);
    }
  }

  private final GrpcHttp2ConnectionHandler handler;
  private final Shared shared;
  private final ServerLimits limits;
  private final Timers timers;
  private final Map<Integer, PendingRequest> requests = new HashMap<>();

  /** Since when there has been no call. */
  private long idleNanos;

  /** Whether a complete request has ever arrived. */
  private boolean used;

  CallLimits(GrpcHttp2ConnectionHandler handler, Http2FrameListener others, Shared shared) {
    super(others);
    this.handler = handler;
    this.shared = shared;
    this.limits = shared.limits;
    this.timers = shared.context.timers();
    this.idleNanos = timers.now();
    handler
        .connection()
        .addListener(
            new Http2ConnectionAdapter() {
              @Override
              public void onStreamClosed(Http2Stream stream) {
                ended(stream.id());
              }
            });
  }

  /** Connections without encryption, within limits. */
  public static InternalProtocolNegotiator.ProtocolNegotiator plaintext(Shared shared) {
    return plaintext(shared, (handler, others) -> others);
  }

  /**
   * Connections without encryption, within limits.
   *
   * @param inner what comes between the limits and gRPC's own listener
   */
  static InternalProtocolNegotiator.ProtocolNegotiator plaintext(
      Shared shared,
      BiFunction<GrpcHttp2ConnectionHandler, Http2FrameListener, Http2FrameListener> inner) {
    InternalProtocolNegotiator.ProtocolNegotiator plain =
        InternalProtocolNegotiators.serverPlaintext();
    return new InternalProtocolNegotiator.ProtocolNegotiator() {
      @Override
      public AsciiString scheme() {
        return plain.scheme();
      }

      @Override
      public ChannelHandler newHandler(GrpcHttp2ConnectionHandler handler) {
        Http2FrameListener calls = inner.apply(handler, handler.decoder().frameListener());
        handler.decoder().frameListener(new CallLimits(handler, calls, shared));
        return plain.newHandler(handler);
      }

      @Override
      public void close() {
        plain.close();
      }
    };
  }

  @Override
  public void onSettingsRead(ChannelHandlerContext ctx, Http2Settings settings)
      throws Http2Exception {
    super.onSettingsRead(ctx, settings);
    if (requests.isEmpty() && !used) {
      later(ctx);
    }
  }

  private void later(ChannelHandlerContext ctx) {
    ctx.executor()
        .schedule(() -> look(ctx), limits.request().toMillis() / 4, TimeUnit.MILLISECONDS);
  }

  /** Refuses slow requests and closes an idle connection. */
  private void look(ChannelHandlerContext ctx) {
    if (!ctx.channel().isActive()) {
      return;
    }
    long now = timers.now();
    for (Map.Entry<Integer, PendingRequest> e : List.copyOf(requests.entrySet())) {
      PendingRequest r = e.getValue();
      long nanos = now - r.beganNanos;
      if (!r.whole
          && nanos > limits.request().toNanos()
          && r.bytes < TimeUnit.NANOSECONDS.toSeconds(nanos) * BYTES_PER_SECOND) {
        refuse(
            ctx,
            e.getKey(),
            Code.DEADLINE_EXCEEDED,
            String.format(
                Locale.ROOT,
                "Only %d bytes of a request to %s arrived in %.1f s, less than 1 KiB per second.%s",
                r.bytes,
                r.path,
                nanos / 1e9,
                ServerLimits.raisedBy("request.seconds")));
      }
    }
    boolean idle =
        requests.isEmpty()
            && now - idleNanos > (used ? limits.idle() : limits.request()).toNanos()
            && !shared.holds.test(ctx.channel().remoteAddress());
    if (idle) {
      LOG.debug("Closing the idle connection of {}.", ctx.channel().remoteAddress());
      ctx.close();
    } else {
      later(ctx);
    }
  }

  @Override
  public void onHeadersRead(
      ChannelHandlerContext ctx, int stream, Http2Headers headers, int padding, boolean end)
      throws Http2Exception {
    begins(stream, headers, end);
    super.onHeadersRead(ctx, stream, headers, padding, end);
    check(ctx, stream, headers);
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
    begins(stream, headers, end);
    super.onHeadersRead(ctx, stream, headers, dependency, weight, exclusive, padding, end);
    check(ctx, stream, headers);
  }

  private void begins(int stream, Http2Headers headers, boolean end) {
    PendingRequest r =
        requests.computeIfAbsent(
            stream, s -> new PendingRequest(String.valueOf(headers.path()), timers.now()));
    r.whole |= end;
  }

  /** Refuses compression: a few compressed bytes may expand to a message that fills the heap. */
  private void check(ChannelHandlerContext ctx, int stream, Http2Headers headers) {
    CharSequence encoding = headers.get(ENCODING);
    if (encoding != null && !"identity".contentEquals(encoding)) {
      refuse(
          ctx,
          stream,
          Code.UNIMPLEMENTED,
          "Messages compressed by "
              + encoding
              + " are not accepted. Do not set a compression algorithm, as TensorFlow does not by"
              + " default.");
    }
  }

  @Override
  public int onDataRead(
      ChannelHandlerContext ctx, int stream, ByteBuf data, int padding, boolean end)
      throws Http2Exception {
    int n = data.readableBytes();
    PendingRequest r = requests.get(stream);
    if (r == null) {
      return super.onDataRead(ctx, stream, data, padding, end);
    }
    r.bytes += n;
    long pending = shared.pendingBytes.addAndGet(n);
    r.whole |= end;
    used |= end;
    int most = r.large ? limits.messageBytes() : limits.smallMessageBytes();
    if (r.bytes - TensorResponse.PREFIX > most) {
      refuse(
          ctx,
          stream,
          Code.RESOURCE_EXHAUSTED,
          "The request to "
              + r.path
              + " is longer than "
              + most
              + " bytes."
              + ServerLimits.raisedBy(r.large ? "message.bytes" : "small.message.bytes"));
      return n + padding;
    }
    if (pending > limits.pendingBytes()) {
      refuse(
          ctx,
          stream,
          Code.RESOURCE_EXHAUSTED,
          "The requests that this server is receiving or serving exceed "
              + limits.pendingBytes()
              + " bytes together (default: half of its heap). Send less at once, or give it a"
              + " larger heap (-Xmx)."
              + ServerLimits.raisedBy("pending.bytes"));
      return n + padding;
    }
    return super.onDataRead(ctx, stream, data, padding, end);
  }

  private void ended(int stream) {
    PendingRequest r = requests.remove(stream);
    if (r != null) {
      shared.pendingBytes.addAndGet(-r.bytes);
      idleNanos = timers.now();
    }
  }

  /** Answers a call with an error and makes gRPC drop the rest of it. */
  private void refuse(ChannelHandlerContext ctx, int stream, Code code, String message) {
    Http2Stream s = handler.connection().stream(stream);
    PendingRequest r = requests.get(stream);
    LOG.debug("Refusing a call of {}: {}", ctx.channel().remoteAddress(), message);
    if (s == null || r == null) {
      return;
    }
    try {
      // As if the caller had given up.
      super.onRstStreamRead(ctx, stream, Http2Error.CANCEL.code());
    } catch (Http2Exception e) {
      LOG.debug("The refused call had already ended: {}", e.getMessage());
    }
    if (!s.isHeadersSent()) {
      Http2Headers trailers =
          new DefaultHttp2Headers()
              .status("200")
              .set("content-type", "application/grpc")
              .set("grpc-status", Integer.toString(code.number()))
              .set("grpc-message", GrpcErrors.percentEncoded(message))
              .set(GrpcErrors.ANSWERED.name(), "yes");
      handler.encoder().writeHeaders(ctx, stream, trailers, 0, true, ctx.newPromise());
    }
    handler.resetStream(ctx, stream, Http2Error.NO_ERROR.code(), ctx.newPromise());
    ctx.channel().flush();
  }
}
