package dev.millrace.cluster.http2;

import io.grpc.netty.shaded.io.netty.buffer.ByteBuf;
import io.grpc.netty.shaded.io.netty.buffer.Unpooled;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2Exception;
import io.grpc.netty.shaded.io.netty.handler.codec.http2.Http2Headers;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;

/**
 * HTTP/2 on a client's connection, as far as calls of one method with short requests need it.
 * Frames of data are read straight into the tensors they are for.
 *
 * <p>Threading: one thread reads, any writes.
 */
final class Http2Frames {
  /** Who is told what arrives. */
  interface Listener {
    /** The call of a stream, or null if it is over. */
    TensorCall call(int stream);

    /** A stream's last frame has come. */
    void ended(int stream);

    /** The peer takes this many streams at once. */
    void settings(long mostStreams);

    /** The peer takes so many bytes more. */
    void window(long more);

    /** The peer will not serve streams after {@code lastStream}. */
    void goingAway(int lastStream, String why);
  }

  /**
   * What a call's headers say.
   *
   * @param status HTTP's status
   * @param code gRPC's status; that of an unknown error if there is none
   * @param message gRPC's message
   * @param answered whether the error is the peer's own word
   */
  record Headers(String status, int code, String message, boolean answered) {}

  private static final int DATA = 0;
  private static final int HEADERS = 1;
  private static final int RST_STREAM = 3;
  private static final int SETTINGS = 4;
  private static final int PING = 6;
  private static final int GOAWAY = 7;
  private static final int WINDOW_UPDATE = 8;
  private static final int CONTINUATION = 9;

  private static final int END_STREAM = 1;
  private static final int ACK = 1;
  private static final int END_HEADERS = 4;
  private static final int PADDED = 8;
  private static final int PRIORITY = 0x20;

  private static final int HEADER_TABLE_SIZE = 1;
  private static final int MAX_CONCURRENT_STREAMS = 3;
  private static final int INITIAL_WINDOW_SIZE = 4;
  private static final int MAX_FRAME_SIZE = 5;
  private static final int ENABLE_PUSH = 2;

  private static final int CANCEL = 8;
  private static final int UNKNOWN = 2;
  private static final int LARGEST_FRAME = 4 << 20;
  private static final int LARGEST_HEADERS = 64 << 10;
  private static final byte[] PREFACE =
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  /**
   * What the peer may send before it is told that it was read. The tensors are there to take it
   * all, so it need never wait.
   */
  private static final int WINDOW = Integer.MAX_VALUE;

  private static final int DEFAULT_WINDOW = 65_535;

  /** Fewer bytes than this are read with what follows them and copied. */
  private static final int WORTH_READING_APART = 16 << 10;

  private final SocketChannel socket;
  private final String authority;
  private final Listener listener;
  private final DefaultHttp2HeadersEncoder encoder = new DefaultHttp2HeadersEncoder();
  private final DefaultHttp2HeadersDecoder decoder =
      new DefaultHttp2HeadersDecoder(false, LARGEST_HEADERS);
  private final ByteBuffer in = ByteBuffer.allocateDirect(64 << 10).flip();
  private long unacknowledged;

  Http2Frames(SocketChannel socket, String authority, Listener listener) {
    this.socket = socket;
    this.authority = authority;
    this.listener = listener;
  }

  // ---- writing ----

  /** Opens the conversation. */
  void greet() throws IOException {
    ByteBuffer b = ByteBuffer.allocate(128).put(PREFACE);
    frame(b, 18, SETTINGS, 0, 0);
    b.putShort((short) ENABLE_PUSH).putInt(0);
    b.putShort((short) INITIAL_WINDOW_SIZE).putInt(WINDOW);
    b.putShort((short) MAX_FRAME_SIZE).putInt(LARGEST_FRAME);
    frame(b, 4, WINDOW_UPDATE, 0, 0);
    b.putInt(WINDOW - DEFAULT_WINDOW);
    write(b);
  }

  /** Sends a request, whole. */
  synchronized void request(int stream, byte[] message) throws IOException {
    Http2Headers h =
        new DefaultHttp2Headers(false)
            .method("POST")
            .scheme("http")
            .path("/" + GrpcMethods.RECV_TENSOR.getFullMethodName())
            .authority(authority)
            .set("te", "trailers")
            .set("content-type", "application/grpc")
            .set("user-agent", "grpc-java-millrace");
    ByteBuf block = Unpooled.buffer(256);
    try {
      encoder.encodeHeaders(stream, h, block);
    } catch (Http2Exception e) {
      throw new IOException(e);
    }
    int data = TensorResponse.PREFIX + message.length;
    ByteBuffer b = ByteBuffer.allocate(18 + block.readableBytes() + data);
    frame(b, block.readableBytes(), HEADERS, END_HEADERS, stream);
    b.put(block.nioBuffer());
    frame(b, data, DATA, END_STREAM, stream);
    b.put((byte) 0).putInt(message.length).put(message);
    write(b);
  }

  /** Tells the peer that a call's answer is not wanted any more. */
  void reset(int stream) throws IOException {
    ByteBuffer b = ByteBuffer.allocate(13);
    frame(b, 4, RST_STREAM, 0, stream);
    write(b.putInt(CANCEL));
  }

  private static void frame(ByteBuffer b, int length, int type, int flags, int stream) {
    b.put((byte) (length >>> 16)).putShort((short) length);
    b.put((byte) type).put((byte) flags).putInt(stream);
  }

  private synchronized void write(ByteBuffer b) throws IOException {
    b.flip();
    while (b.hasRemaining()) {
      socket.write(b);
    }
  }

  // ---- reading ----

  /** Reads until the connection ends, which it reports by an exception. */
  void read() throws IOException {
    while (true) {
      need(9);
      int length = (in.get() & 0xFF) << 16 | in.getShort() & 0xFFFF;
      int type = in.get();
      int flags = in.get();
      int stream = in.getInt() & Integer.MAX_VALUE;
      if (length > LARGEST_FRAME) {
        throw new IOException("it sent a frame of " + length + " bytes");
      }
      switch (type) {
        case DATA -> data(length, flags, stream);
        case HEADERS -> headers(length, flags, stream);
        case RST_STREAM -> {
          needExactly(length, 4);
          TensorCall call = listener.call(stream);
          long code = in.getInt() & 0xFFFF_FFFFL;
          if (call != null) {
            call.reset(code);
            listener.ended(stream);
          }
        }
        case SETTINGS -> settings(length, flags);
        case PING -> ping(length, flags);
        case GOAWAY -> {
          if (length < 8) {
            throw wrongSize(length);
          }
          ByteBuffer b = ByteBuffer.wrap(bytes(length));
          int last = b.getInt() & Integer.MAX_VALUE;
          b.getInt();
          listener.goingAway(last, StandardCharsets.UTF_8.decode(b).toString());
        }
        case WINDOW_UPDATE -> {
          needExactly(length, 4);
          int more = in.getInt() & Integer.MAX_VALUE;
          if (stream == 0) {
            listener.window(more);
          }
        }
        default -> skip(length);
      }
    }
  }

  private void data(int length, int flags, int stream) throws IOException {
    int padding = 0;
    int n = length;
    if ((flags & PADDED) != 0) {
      need(1);
      padding = in.get() & 0xFF;
      n -= 1 + padding;
    }
    if (n < 0) {
      throw new IOException("it sent a frame that is shorter than its padding");
    }
    TensorCall call = listener.call(stream);
    IncomingTensor to = call == null ? null : call.use();
    if (to == null) {
      skip(n);
    } else {
      try {
        fill(to, n);
      } catch (BadAnswer e) {
        call.failed(call.unreadable(e));
        listener.ended(stream);
        skip(e.left);
      } finally {
        call.unuse();
      }
    }
    skip(padding);
    acknowledge(length);
    if ((flags & END_STREAM) != 0 && call != null) {
      call.failed(call.unreadable(new IOException("it ends without a status")));
      listener.ended(stream);
    }
  }

  /** The answer itself is wrong; the connection is not. */
  private static final class BadAnswer extends IOException {
    private static final long serialVersionUID = 1;
    private final int left;

    BadAnswer(IOException cause, int left) {
      super(cause.getMessage(), cause);
      this.left = left;
    }
  }

  /** Has {@code to} take the next {@code n} bytes. */
  private void fill(IncomingTensor to, int n) throws IOException {
    int left = n;
    while (left > 0) {
      if (in.hasRemaining()) {
        int k = Math.min(left, in.remaining());
        ByteBuffer piece = in.slice(in.position(), k);
        in.position(in.position() + k);
        left -= k;
        try {
          to.take(piece);
        } catch (IOException | RuntimeException e) {
          throw new BadAnswer(e instanceof IOException io ? io : new IOException(e), left);
        }
      } else if (left >= WORTH_READING_APART && to.takesElements()) {
        ByteBuffer room = to.room().asSlice(0, Math.min(left, to.room().byteSize())).asByteBuffer();
        in.clear().limit(WORTH_READING_APART);
        long got = socket.read(new ByteBuffer[] {room, in});
        in.flip();
        if (got < 0) {
          throw new EOFException("it closed the connection");
        }
        to.filled(room.position());
        left -= room.position();
      } else {
        more();
      }
    }
  }

  /** Lets the peer send as much again once a good part of what it may send has come. */
  private void acknowledge(int n) throws IOException {
    unacknowledged += n;
    if (unacknowledged > WINDOW / 4) {
      ByteBuffer b = ByteBuffer.allocate(13);
      frame(b, 4, WINDOW_UPDATE, 0, 0);
      write(b.putInt((int) unacknowledged));
      unacknowledged = 0;
    }
  }

  private void headers(int length, int flags, int stream) throws IOException {
    if (length == 0 && (flags & PADDED) != 0) {
      throw wrongSize(length);
    }
    byte[] block = bytes(length);
    int start = 0;
    int end = block.length;
    if ((flags & PADDED) != 0) {
      end -= block[0] & 0xFF;
      start++;
    }
    if ((flags & PRIORITY) != 0) {
      start += 5;
    }
    if (start > end) {
      throw new IOException("it sent headers that are shorter than their padding");
    }
    ByteBuf all = Unpooled.buffer(length).writeBytes(block, start, end - start);
    for (int f = flags; (f & END_HEADERS) == 0; ) {
      need(9);
      int more = (in.get() & 0xFF) << 16 | in.getShort() & 0xFFFF;
      int type = in.get();
      f = in.get();
      in.getInt();
      if (type != CONTINUATION || all.readableBytes() + more > LARGEST_HEADERS) {
        throw new IOException("it sent headers that do not end");
      }
      all.writeBytes(bytes(more));
    }
    Http2Headers h;
    try {
      h = decoder.decodeHeaders(stream, all);
    } catch (Http2Exception e) {
      throw new IOException("it sent headers that cannot be read: " + e.getMessage(), e);
    }
    TensorCall call = listener.call(stream);
    boolean last = (flags & END_STREAM) != 0;
    if (call != null) {
      call.headers(decoded(h), last);
      if (last) {
        listener.ended(stream);
      }
    }
  }

  private static Headers decoded(Http2Headers h) {
    CharSequence message = h.get("grpc-message");
    CharSequence code = h.get("grpc-status");
    int number = UNKNOWN;
    try {
      number = code == null ? UNKNOWN : Integer.parseInt(code.toString());
    } catch (NumberFormatException e) {
      // What it means is unknown.
    }
    return new Headers(
        h.status() == null ? "" : h.status().toString(),
        number,
        message == null ? "" : GrpcErrors.percentDecoded(message.toString()),
        h.contains(GrpcErrors.ANSWERED.name()));
  }

  private void settings(int length, int flags) throws IOException {
    ByteBuffer b = ByteBuffer.wrap(bytes(length));
    if ((flags & ACK) != 0) {
      return;
    }
    while (b.remaining() >= 6) {
      int id = b.getShort() & 0xFFFF;
      long value = b.getInt() & 0xFFFF_FFFFL;
      if (id == MAX_CONCURRENT_STREAMS) {
        listener.settings(value);
      } else if (id == HEADER_TABLE_SIZE) {
        shrinkTable(value);
      }
    }
    ByteBuffer ack = ByteBuffer.allocate(9);
    frame(ack, 0, SETTINGS, ACK, 0);
    write(ack);
  }

  private synchronized void shrinkTable(long size) throws IOException {
    try {
      encoder.maxHeaderTableSize(Math.min(size, encoder.maxHeaderTableSize()));
    } catch (Http2Exception e) {
      throw new IOException(e);
    }
  }

  private void ping(int length, int flags) throws IOException {
    if (length != 8) {
      throw wrongSize(length);
    }
    byte[] data = bytes(length);
    if ((flags & ACK) == 0) {
      ByteBuffer b = ByteBuffer.allocate(9 + length);
      frame(b, length, PING, ACK, 0);
      write(b.put(data));
    }
  }

  private static IOException wrongSize(int length) {
    return new IOException("it sent a frame of " + length + " bytes, an invalid size for its type");
  }

  /** Reads a frame whose type requires exactly {@code n} bytes. */
  private void needExactly(int length, int n) throws IOException {
    if (length != n) {
      throw wrongSize(length);
    }
    need(n);
  }

  /** Reads until {@code n} bytes, which must be few, are there. */
  private void need(int n) throws IOException {
    while (in.remaining() < n) {
      more();
    }
  }

  private void more() throws IOException {
    in.compact();
    int got = socket.read(in);
    in.flip();
    if (got < 0) {
      throw new EOFException("it closed the connection");
    }
  }

  private byte[] bytes(int n) throws IOException {
    if (n > LARGEST_HEADERS) {
      throw new IOException("it sent " + n + " bytes where few were expected");
    }
    byte[] b = new byte[n];
    for (int at = 0; at < n; ) {
      need(1);
      int k = Math.min(n - at, in.remaining());
      in.get(b, at, k);
      at += k;
    }
    return b;
  }

  private void skip(int n) throws IOException {
    for (int left = n; left > 0; ) {
      need(1);
      int k = Math.min(left, in.remaining());
      in.position(in.position() + k);
      left -= k;
    }
  }
}
