package dev.millrace.serving.rest;

import dev.millrace.base.MillraceException;
import dev.millrace.serving.served.ServingLimits;
import io.grpc.netty.shaded.io.netty.buffer.ByteBuf;
import io.grpc.netty.shaded.io.netty.buffer.Unpooled;
import io.grpc.netty.shaded.io.netty.channel.ChannelFutureListener;
import io.grpc.netty.shaded.io.netty.channel.ChannelHandlerContext;
import io.grpc.netty.shaded.io.netty.channel.ChannelInboundHandlerAdapter;
import io.grpc.netty.shaded.io.netty.channel.socket.DuplexChannel;
import io.grpc.netty.shaded.io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.grpc.netty.shaded.io.netty.handler.codec.http.FullHttpResponse;
import io.grpc.netty.shaded.io.netty.handler.codec.http.HttpContent;
import io.grpc.netty.shaded.io.netty.handler.codec.http.HttpHeaderNames;
import io.grpc.netty.shaded.io.netty.handler.codec.http.HttpHeaderValues;
import io.grpc.netty.shaded.io.netty.handler.codec.http.HttpRequest;
import io.grpc.netty.shaded.io.netty.handler.codec.http.HttpResponseStatus;
import io.grpc.netty.shaded.io.netty.handler.codec.http.HttpUtil;
import io.grpc.netty.shaded.io.netty.handler.codec.http.HttpVersion;
import io.grpc.netty.shaded.io.netty.handler.codec.http.LastHttpContent;
import io.grpc.netty.shaded.io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.grpc.netty.shaded.io.netty.handler.codec.http.TooLongHttpLineException;
import io.grpc.netty.shaded.io.netty.util.ReferenceCountUtil;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An HTTP connection: one request after the other, within limits. Nothing is read while a request
 * is answered. A connection that is idle, sends too slowly or does not take its answer is cut.
 *
 * <p>Threading: the connection's event loop.
 */
final class RestConnection extends ChannelInboundHandlerAdapter {
  private static final Logger LOG = LoggerFactory.getLogger(RestConnection.class);

  /** A request or an answer that moves this fast may take longer than the limit. */
  private static final long BYTES_PER_SECOND = 16 << 10;

  private static final long DRAIN_NANOS = 1_000_000_000L;

  /** Where there are too many connections, one that has waited this long makes room. */
  private static final long YIELD_NANOS = 1_000_000_000L;

  private static final int FIRST_BYTES = 1 << 10;

  private enum State {
    /** Waits for a request. */
    IDLE,
    /** Receives the body of one. */
    RECEIVING,
    ANSWERING,
    /** The answer is on its way. */
    WRITING,
    /** Was refused; what still comes is discarded, so that the caller can read the answer. */
    DRAINING,
    CLOSED
  }

  private final RestPort.Shared shared;
  private final ServingLimits limits;
  private volatile State state = State.IDLE;

  /** Since when the connection waits for a request or its body; read by other threads. */
  private volatile long waitingSince;

  private volatile ChannelHandlerContext context;

  /** Whether it is about to make room. Guarded by the set of open connections. */
  private boolean yielding;

  /** When the present state began, and when it must have ended. */
  private long deadlineNanos;

  private HttpRequest request;
  private byte[] body = new byte[0];
  private int length;

  /** The bytes of this connection that count as pending. */
  private long counted;

  private boolean keepAlive;

  /** Messages that came while a request was answered. */
  private final ArrayDeque<Object> early = new ArrayDeque<>();

  RestConnection(RestPort.Shared shared) {
    this.shared = shared;
    this.limits = shared.limits();
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    waitingSince = shared.timers().now();
    context = ctx;
    boolean tooMany =
        shared.models().metrics().connections().incrementAndGet() > limits.connections();
    if (tooMany && !makeRoom()) {
      shared.models().metrics().refused();
      ctx.close();
      return;
    }
    shared.open().add(this);
    // The first request must come soon; who has sent one may pause for longer.
    deadlineNanos = shared.timers().now() + limits.arrival().toNanos();
    watch(ctx);
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    shared.models().metrics().connections().decrementAndGet();
    shared.open().remove(this);
    state = State.CLOSED;
    forgetBody();
    early.forEach(ReferenceCountUtil::release);
    early.clear();
  }

  /** Closes the connection that has waited longest for its caller; false if there is none. */
  private boolean makeRoom() {
    RestConnection longest = null;
    synchronized (shared.open()) {
      for (RestConnection c : shared.open()) {
        if (c.isWaiting()
            && !c.yielding
            && (longest == null || c.waitingSince - longest.waitingSince < 0)) {
          longest = c;
        }
      }
      if (longest == null || shared.timers().since(longest.waitingSince) < YIELD_NANOS) {
        return false;
      }
      longest.yielding = true;
    }
    RestConnection chosen = longest;
    shared.models().metrics().refused();
    chosen.context.executor().execute(chosen::yieldPlace);
    return true;
  }

  private boolean isWaiting() {
    return state == State.IDLE || state == State.RECEIVING;
  }

  private void yieldPlace() {
    if (isWaiting()) {
      context.close();
    } else {
      synchronized (shared.open()) {
        yielding = false;
      }
    }
  }

  private void watch(ChannelHandlerContext ctx) {
    long pause = Math.max(50, limits.arrival().toMillis() / 8);
    ctx.executor().schedule(() -> look(ctx), pause, TimeUnit.MILLISECONDS);
  }

  private void look(ChannelHandlerContext ctx) {
    if (state == State.CLOSED) {
      return;
    }
    if (state != State.ANSWERING && shared.timers().now() - deadlineNanos > 0) {
      if (state == State.RECEIVING) {
        refuse(ctx, 408, "The body of the request did not arrive in time (--arrival-seconds).");
      } else {
        ctx.close();
      }
      return;
    }
    watch(ctx);
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    if (state == State.ANSWERING || state == State.WRITING) {
      // Came in one piece with the request that is answered; no more is read meanwhile.
      early.add(message);
      return;
    }
    take(ctx, message);
  }

  private void take(ChannelHandlerContext ctx, Object message) {
    try {
      if (message instanceof HttpRequest r && state == State.IDLE) {
        begin(ctx, r);
      }
      if (message instanceof HttpContent c && state == State.RECEIVING) {
        receive(ctx, c);
      }
    } finally {
      ReferenceCountUtil.release(message);
    }
  }

  /** Goes on with what came early, then reads again. */
  private void next(ChannelHandlerContext ctx) {
    while (!early.isEmpty() && state != State.ANSWERING && state != State.WRITING) {
      take(ctx, early.poll());
    }
    if (state != State.ANSWERING && state != State.WRITING) {
      ctx.channel().config().setAutoRead(true);
    }
  }

  private void begin(ChannelHandlerContext ctx, HttpRequest r) {
    request = r;
    keepAlive = HttpUtil.isKeepAlive(r);
    length = 0;
    state = State.RECEIVING;
    waitingSince = shared.timers().now();
    deadlineNanos = waitingSince + limits.arrival().toNanos();
    if (r.decoderResult().isFailure()) {
      Throwable why = r.decoderResult().cause();
      int status =
          why instanceof TooLongHttpHeaderException
              ? 431
              : why instanceof TooLongHttpLineException ? 414 : 400;
      refuse(ctx, status, "The request is not HTTP that can be read: " + why.getMessage());
      return;
    }
    String encoding = r.headers().get(HttpHeaderNames.CONTENT_ENCODING);
    if (encoding != null && !encoding.equalsIgnoreCase("identity")) {
      refuse(ctx, 415, "Bodies in the encoding " + encoding + " are not accepted.");
      return;
    }
    if (contentLength(r) > limits.bodyBytes()) {
      tooLong(ctx);
      return;
    }
    if (HttpUtil.is100ContinueExpected(r)) {
      ctx.writeAndFlush(
          new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.CONTINUE));
    }
  }

  private static long contentLength(HttpRequest r) {
    try {
      return HttpUtil.getContentLength(r, 0L);
    } catch (NumberFormatException e) {
      return Long.MAX_VALUE;
    }
  }

  private void tooLong(ChannelHandlerContext ctx) {
    refuse(
        ctx,
        413,
        "The request is longer than "
            + limits.bodyBytes()
            + " bytes (--max-body). Send fewer rows at once.");
  }

  private void receive(ChannelHandlerContext ctx, HttpContent part) {
    if (part.decoderResult().isFailure()) {
      refuse(ctx, 400, "The body cannot be read: " + part.decoderResult().cause().getMessage());
      return;
    }
    ByteBuf bytes = part.content();
    int n = bytes.readableBytes();
    if (length + (long) n > limits.bodyBytes()) {
      tooLong(ctx);
      return;
    }
    if (!grow(length + n)) {
      refuse(
          ctx,
          503,
          "The requests that arrive together are longer than "
              + limits.pendingBytes()
              + " bytes. Try again later.");
      return;
    }
    bytes.readBytes(body, length, n);
    length += n;
    deadlineNanos += n * 1_000_000_000L / BYTES_PER_SECOND;
    if (part instanceof LastHttpContent) {
      answer(ctx);
    }
  }

  /** Makes room for so many bytes; false if all connections together have too many. */
  private boolean grow(int needed) {
    if (needed <= body.length) {
      return true;
    }
    long size =
        Math.min(limits.bodyBytes(), Math.max(Math.max(FIRST_BYTES, needed), 2L * body.length));
    long more = size - body.length;
    if (shared.pendingBytes().addAndGet(more) > limits.pendingBytes()) {
      shared.pendingBytes().addAndGet(-more);
      return false;
    }
    counted += more;
    body = Arrays.copyOf(body, (int) size);
    return true;
  }

  /** Gives back the room of a large body; that of a small one is used again. */
  private void forgetBody() {
    if (body.length > 16 * FIRST_BYTES || state == State.CLOSED) {
      shared.pendingBytes().addAndGet(-counted);
      counted = 0;
      body = new byte[0];
    }
  }

  private void answer(ChannelHandlerContext ctx) {
    state = State.ANSWERING;
    ctx.channel().config().setAutoRead(false);
    String method = request.method().name();
    String uri = request.uri();
    if (shared.routes().isQuick(uri)) {
      reply(ctx, shared.routes().answer(method, uri, body, length));
      return;
    }
    byte[] bytes = body;
    int count = length;
    try {
      shared
          .threads()
          .execute(
              () -> {
                Reply r = answer(method, uri, bytes, count);
                ctx.executor().execute(() -> reply(ctx, r));
              });
    } catch (RejectedExecutionException e) {
      reply(ctx, Reply.error(503, "The server is stopping."));
    }
  }

  private Reply answer(String method, String uri, byte[] bytes, int count) {
    try {
      return shared.routes().answer(method, uri, bytes, count);
    } catch (RuntimeException | Error e) {
      LOG.warn("A request to {} failed.", uri, e);
      return Reply.error(MillraceException.of(e));
    }
  }

  /** Answers a request that was not read to its end, and closes the connection. */
  private void refuse(ChannelHandlerContext ctx, int status, String why) {
    shared.models().metrics().refused();
    keepAlive = false;
    reply(ctx, Reply.error(status, why));
  }

  private void reply(ChannelHandlerContext ctx, Reply r) {
    if (state == State.CLOSED) {
      return;
    }
    request = null;
    forgetBody();
    boolean stays = keepAlive && shared.models().isReady();
    FullHttpResponse response =
        new DefaultFullHttpResponse(
            HttpVersion.HTTP_1_1,
            HttpResponseStatus.valueOf(r.status()),
            Unpooled.wrappedBuffer(r.body()));
    response
        .headers()
        .set(HttpHeaderNames.CONTENT_TYPE, r.type())
        .setInt(HttpHeaderNames.CONTENT_LENGTH, r.body().length);
    if (r.status() == 503) {
      response.headers().set(HttpHeaderNames.RETRY_AFTER, "1");
    }
    if (!stays) {
      response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
    }
    state = State.WRITING;
    deadlineNanos =
        shared.timers().now()
            + limits.arrival().toNanos()
            + r.body().length * 1_000_000_000L / BYTES_PER_SECOND;
    ctx.writeAndFlush(response)
        .addListener(
            (ChannelFutureListener)
                done -> {
                  if (state == State.CLOSED) {
                    return;
                  }
                  if (!done.isSuccess()) {
                    ctx.close();
                    return;
                  }
                  if (!stays) {
                    drain(ctx);
                    return;
                  }
                  waitingSince = shared.timers().now();
                  state = State.IDLE;
                  deadlineNanos = shared.timers().now() + limits.idle().toNanos();
                  next(ctx);
                });
  }

  /** To close at once would reset the connection where bytes are unread, and lose the answer. */
  private void drain(ChannelHandlerContext ctx) {
    state = State.DRAINING;
    deadlineNanos = shared.timers().now() + DRAIN_NANOS;
    if (ctx.channel() instanceof DuplexChannel c) {
      c.shutdownOutput();
    }
    next(ctx);
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    LOG.debug("The connection of {} failed: {}", ctx.channel().remoteAddress(), cause.toString());
    ctx.close();
  }
}
