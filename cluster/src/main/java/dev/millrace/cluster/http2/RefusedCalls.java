package dev.millrace.cluster.http2;

import dev.millrace.base.Code;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.charset.StandardCharsets;

/**
 * Answers the calls of a client of gRPC that is refused with UNAUTHENTICATED and the reason, so
 * that its user reads it. It looks at the heads of the frames alone: nothing that the client sent
 * is decoded.
 */
final class RefusedCalls {
  private static final int PREFACE_BYTES = 24;
  private static final int HEAD_BYTES = 9;
  private static final int MAX_FRAME_BYTES = 1 << 14;

  /** A client makes a call or two before it gives up; one that makes more is no client. */
  private static final int MAX_FRAMES = 100;

  private static final int HEADERS = 1;
  private static final int SETTINGS = 4;
  private static final int PING = 6;
  private static final int ACK = 1;
  private static final int END = 0x5;

  /** The entry ":status: 200" of HPACK's static table. */
  private static final int STATUS_200 = 0x88;

  private final ByteChannel channel;
  private final byte[] trailers;

  RefusedCalls(ByteChannel channel, String why) {
    this.channel = channel;
    ByteArrayOutputStream b = new ByteArrayOutputStream();
    b.write(STATUS_200);
    header(b, "content-type", "application/grpc");
    header(b, "grpc-status", Integer.toString(Code.UNAUTHENTICATED.number()));
    header(b, "grpc-message", GrpcErrors.percentEncoded(why));
    header(b, GrpcErrors.ANSWERED.name(), "yes");
    trailers = b.toByteArray();
  }

  /** A literal header that is not to be indexed. */
  private static void header(ByteArrayOutputStream b, String name, String value) {
    b.write(0);
    string(b, name);
    string(b, value);
  }

  /** Without Huffman's coding; the length has 7 bits, and more in groups of 7. */
  private static void string(ByteArrayOutputStream b, String s) {
    byte[] bytes = s.getBytes(StandardCharsets.US_ASCII);
    int most = 0x7f;
    if (bytes.length < most) {
      b.write(bytes.length);
    } else {
      b.write(most);
      int left = bytes.length - most;
      for (; left > most; left >>= 7) {
        b.write(left & most | 0x80);
      }
      b.write(left);
    }
    b.writeBytes(bytes);
  }

  /** Answers until the client leaves. */
  void answer() throws IOException {
    send(SETTINGS, 0, 0, new byte[0]);
    read(PREFACE_BYTES);
    for (int i = 0; i < MAX_FRAMES; i++) {
      ByteBuffer head = ByteBuffer.wrap(read(HEAD_BYTES));
      int length = (head.get() & 0xFF) << 16 | head.getShort() & 0xFFFF;
      int type = head.get();
      int flags = head.get();
      int stream = head.getInt();
      if (length > MAX_FRAME_BYTES) {
        throw new IOException("a frame of " + length + " bytes");
      }
      byte[] body = read(length);
      if (type == SETTINGS && (flags & ACK) == 0) {
        send(SETTINGS, ACK, 0, new byte[0]);
      } else if (type == PING && (flags & ACK) == 0) {
        send(PING, ACK, 0, body);
      } else if (type == HEADERS) {
        send(HEADERS, END, stream, trailers);
      }
    }
  }

  private byte[] read(int n) throws IOException {
    byte[] bytes = new byte[n];
    ByteBuffer b = ByteBuffer.wrap(bytes);
    while (b.hasRemaining()) {
      if (channel.read(b) < 0) {
        throw new EOFException("the client left");
      }
    }
    return bytes;
  }

  private void send(int type, int flags, int stream, byte[] body) throws IOException {
    ByteBuffer b = ByteBuffer.allocate(HEAD_BYTES + body.length);
    b.put((byte) (body.length >> 16)).putShort((short) body.length);
    b.put((byte) type).put((byte) flags).putInt(stream).put(body).flip();
    while (b.hasRemaining()) {
      channel.write(b);
    }
  }
}
