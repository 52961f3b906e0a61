package dev.millrace.cluster.http2;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Refs;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;

/**
 * One call of RecvTensor by a {@link TensorChannel}.
 *
 * <p>Its tensor is being filled by the channel's thread while others may give the call up; whoever
 * is last to need the memory gives it back.
 *
 * <p>Threading: {@link #use}, {@link #unuse} and {@link #answered} the channel's thread, the rest
 * any.
 */
public final class TensorCall {
  private enum State {
    IDLE,
    IN_USE,
    OVER
  }

  private final CompletableFuture<ReceivedTensor> future = new CompletableFuture<>();
  private final IncomingTensor incoming = new IncomingTensor();
  private final AtomicReference<State> state = new AtomicReference<>(State.IDLE);
  private final String place;
  private TensorChannel channel;
  private byte[] request;
  private volatile int stream;

  /** Whether the peer has said, by its headers, that it speaks gRPC. */
  private boolean accepted;

  public TensorCall(String place) {
    this.place = place;
  }

  public CompletableFuture<ReceivedTensor> future() {
    return future;
  }

  void begin(TensorChannel on, byte[] message) {
    channel = on;
    request = message;
  }

  byte[] request() {
    return request;
  }

  int requestLength() {
    return request.length + TensorResponse.PREFIX;
  }

  void sentOn(int id) {
    stream = id;
  }

  int stream() {
    return stream;
  }

  /** What the answer is read into, until {@link #unuse}; null if nobody wants it any more. */
  IncomingTensor use() {
    return state.compareAndSet(State.IDLE, State.IN_USE) ? incoming : null;
  }

  void unuse() {
    if (!state.compareAndSet(State.IN_USE, State.IDLE)) {
      incoming.release();
    }
  }

  /** Takes leave of the tensor, whoever fills it. */
  private void over() {
    if (state.getAndSet(State.OVER) == State.IDLE) {
      incoming.release();
    }
  }

  void failed(MillraceException cause) {
    over();
    future.completeExceptionally(cause);
  }

  /** Gives the call up, here and at the peer. */
  public void cancel(MillraceException cause) {
    channel.cancel(this);
    failed(cause);
  }

  /** Headers have come: the first, the last, or both in one. */
  void headers(Http2Frames.Headers headers, boolean end) {
    if (!accepted && !headers.status().equals("200")) {
      failed(
          new MillraceException(
              Code.UNAVAILABLE,
              place
                  + " cannot be reached: it answered with HTTP status "
                  + headers.status()
                  + "."));
    } else if (!end) {
      accepted = true;
    } else if (headers.code() == 0) {
      answered();
    } else {
      failed(GrpcErrors.decode(headers.code(), headers.message(), headers.answered(), place));
    }
  }

  private void answered() {
    IncomingTensor in = use();
    if (in == null) {
      return;
    }
    ReceivedTensor r;
    try {
      r = in.end();
    } catch (IOException e) {
      unuse();
      failed(unreadable(e));
      return;
    }
    state.set(State.OVER);
    if (!future.complete(r) && r.value() != null) {
      Refs.release(r.value());
    }
  }

  /** The peer has cut the call off. */
  void reset(long code) {
    failed(
        new MillraceException(
            Code.UNAVAILABLE,
            place + " cannot be reached: it reset the call (HTTP/2 code " + code + ")."));
  }

  MillraceException unreadable(IOException why) {
    return new MillraceException(
        Code.INTERNAL, "The answer of " + place + " could not be read: " + why.getMessage());
  }
}
