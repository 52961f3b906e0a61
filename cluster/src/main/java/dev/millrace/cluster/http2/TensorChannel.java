package dev.millrace.cluster.http2;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import dev.millrace.proto.RecvTensorRequest;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A connection to a task by which its tensors are asked for: gRPC's protocol for the one method
 * RecvTensor. gRPC's own channels gather an answer before they hand it out and copy it on the way;
 * here the socket is read into the tensor's memory.
 *
 * <p>It is opened when it is made and ends for good with the first failure; whoever needs another
 * makes one.
 *
 * <p>Threading: any thread may ask; a thread of its own reads.
 */
public final class TensorChannel {
  private static final int CONNECT_MILLIS = 10_000;

  private final String peer;
  private final String address;

  /** Why it has ended. */
  private final AtomicReference<MillraceException> failure = new AtomicReference<>();

  /** Asked for and not answered yet, by stream. */
  private final Map<Integer, TensorCall> calls = new ConcurrentHashMap<>();

  /** Asked for, but the peer does not take more requests now, or is not connected yet. */
  private final Queue<TensorCall> waiting = new ArrayDeque<>();

  private volatile SocketChannel socket;
  private Http2Frames frames;
  private int nextStream = 1;

  /** What the peer has said it takes: streams at once, bytes of requests. */
  private long mostStreams = Integer.MAX_VALUE;

  private long requestWindow = 65_535;

  /**
   * Connects to {@code address}.
   *
   * @param peer names the task in messages
   */
  public TensorChannel(String peer, String address) {
    this.peer = peer;
    this.address = address;
    Context.current().platform().newThread("tensors from " + peer, this::read).start();
  }

  public synchronized boolean isClosed() {
    return failure.get() != null || nextStream < 0;
  }

  /** Asks for a tensor; {@code call} is told how it ends. */
  public void ask(RecvTensorRequest request, TensorCall call) {
    call.begin(this, request.toByteArray());
    synchronized (this) {
      if (!isClosed()) {
        waiting.add(call);
        sendWaiting();
        return;
      }
    }
    MillraceException why = failure.get();
    call.failed(why != null ? why : unreachable("it is shutting down"));
  }

  /** Gives up a call. */
  void cancel(TensorCall call) {
    synchronized (this) {
      waiting.remove(call);
      if (call.stream() != 0 && calls.remove(call.stream(), call) && !isClosed()) {
        try {
          frames.reset(call.stream());
        } catch (IOException e) {
          fail(unreachable(e.getMessage()));
        }
        sendWaiting();
      }
    }
  }

  /** Sends what the peer takes of what waits. */
  private synchronized void sendWaiting() {
    while (frames != null && !isClosed() && !waiting.isEmpty() && calls.size() < mostStreams) {
      TensorCall call = waiting.peek();
      if (call.requestLength() > requestWindow) {
        return;
      }
      waiting.remove();
      requestWindow -= call.requestLength();
      int stream = nextStream;
      nextStream += 2;
      call.sentOn(stream);
      calls.put(stream, call);
      try {
        frames.request(stream, call.request());
      } catch (IOException e) {
        fail(unreachable(e.getMessage()));
      }
    }
  }

  /** Ends the connection and all calls with {@code cause}; does not wait for those who write. */
  public void fail(MillraceException cause) {
    if (!failure.compareAndSet(null, cause)) {
      return;
    }
    SocketChannel s = socket;
    try {
      if (s != null) {
        s.close();
      }
    } catch (IOException e) {
      cause.addSuppressed(e);
    }
    List<TensorCall> unsent;
    synchronized (this) {
      unsent = List.copyOf(waiting);
      waiting.clear();
    }
    unsent.forEach(c -> c.failed(cause));
    calls.values().forEach(c -> c.failed(cause));
    calls.clear();
  }

  private String place() {
    return peer + " at " + address;
  }

  private MillraceException unreachable(String why) {
    return new MillraceException(Code.UNAVAILABLE, place() + " cannot be reached: " + why);
  }

  // ---- the reader's thread ----

  private void read() {
    try {
      SocketChannel s = connect();
      Http2Frames f = new Http2Frames(s, address, new Events());
      synchronized (this) {
        if (failure.get() != null) {
          s.close();
          return;
        }
        f.greet();
        frames = f;
        sendWaiting();
      }
      f.read();
    } catch (IOException e) {
      fail(unreachable(e.getMessage() == null ? e.toString() : e.getMessage()));
    } catch (Throwable t) {
      fail(MillraceException.internal("Reading from %s failed: %s", place(), t));
    }
  }

  private SocketChannel connect() throws IOException {
    int colon = address.lastIndexOf(':');
    String host = address.substring(0, colon).replaceAll("[\\[\\]]", "");
    int port = Integer.parseInt(address.substring(colon + 1));
    IOException last = null;
    for (InetAddress a : InetAddress.getAllByName(host)) {
      SocketChannel s = SocketChannel.open();
      socket = s;
      try {
        s.setOption(StandardSocketOptions.TCP_NODELAY, true);
        s.socket().connect(new InetSocketAddress(a, port), CONNECT_MILLIS);
        return s;
      } catch (IOException e) {
        s.close();
        last = e;
      }
    }
    throw last;
  }

  /** What arrives. */
  private final class Events implements Http2Frames.Listener {
    private int lastServed = Integer.MAX_VALUE;

    @Override
    public TensorCall call(int stream) {
      return calls.get(stream);
    }

    @Override
    public void ended(int stream) {
      calls.remove(stream);
      sendWaiting();
      if (lastServed != Integer.MAX_VALUE && calls.isEmpty()) {
        fail(unreachable("it is shutting down"));
      }
    }

    @Override
    public void settings(long streams) {
      synchronized (TensorChannel.this) {
        mostStreams = streams;
        sendWaiting();
      }
    }

    @Override
    public void window(long more) {
      synchronized (TensorChannel.this) {
        requestWindow += more;
        sendWaiting();
      }
    }

    @Override
    public void goingAway(int lastStream, String why) {
      lastServed = lastStream;
      MillraceException cause =
          unreachable("it is shutting down" + (why.isEmpty() ? "" : " (" + why + ")"));
      List<TensorCall> unsent;
      synchronized (TensorChannel.this) {
        nextStream = -1; // No more calls by this connection.
        unsent = List.copyOf(waiting);
        waiting.clear();
      }
      unsent.forEach(c -> c.failed(cause));
      calls.forEach(
          (stream, call) -> {
            if (stream > lastStream && calls.remove(stream, call)) {
              call.failed(cause);
            }
          });
      if (calls.isEmpty()) {
        fail(cause);
      }
    }
  }
}
