package dev.millrace.cluster.http2;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Frames that no peer should send end the connection, and do not keep its reader busy. */
class Http2FramesTest {
  private static final class Nobody implements Http2Frames.Listener {
    @Override
    public TensorCall call(int stream) {
      return null;
    }

    @Override
    public void ended(int stream) {}

    @Override
    public void settings(long mostStreams) {}

    @Override
    public void window(long more) {}

    @Override
    public void goingAway(int lastStream, String why) {}
  }

  @ParameterizedTest
  @CsvSource({
    // RST_STREAM, WINDOW_UPDATE, longer than the buffer they are read into.
    "3, 0, 70000",
    "8, 0, 70000",
    "3, 0, 3",
    "8, 0, 5",
    // PING, GOAWAY, padded HEADERS without room for the padding's length.
    "6, 0, 70",
    "7, 0, 7",
    "1, 12, 0"
  })
  void aFrameOfASizeItsKindCannotHaveEndsTheConnection(int type, int flags, int length)
      throws Exception {
    try (ServerSocketChannel listener =
            ServerSocketChannel.open()
                .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        SocketChannel peer = SocketChannel.open(listener.getLocalAddress());
        SocketChannel socket = listener.accept()) {
      ByteBuffer frame = ByteBuffer.allocate(9 + length);
      frame.put((byte) (length >>> 16)).putShort((short) length);
      frame.put((byte) type).put((byte) flags).putInt(1).position(frame.capacity()).flip();
      Http2Frames frames = new Http2Frames(socket, "somewhere", new Nobody());
      CompletableFuture<Void> end =
          CompletableFuture.runAsync(
              () -> {
                try {
                  frames.read();
                } catch (IOException e) {
                  throw new java.io.UncheckedIOException(e);
                }
              },
              r -> Thread.ofPlatform().daemon().start(r));
      while (frame.hasRemaining()) {
        peer.write(frame);
      }
      ExecutionException e =
          assertThrows(ExecutionException.class, () -> end.get(20, TimeUnit.SECONDS));
      assertTrue(e.getMessage().contains("frame of " + length + " bytes"), e::getMessage);
    }
  }
}
