package dev.millrace.cluster.http2;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.base.MillraceException;
import dev.millrace.fuzz.ArrivedBytes;
import dev.millrace.fuzz.Fuzzing;
import dev.millrace.tensor.Refs;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Frames of any bytes are read, or end the connection. */
class Http2FramesFuzzTest {
  private record Calls(Map<Integer, TensorCall> open) implements Http2Frames.Listener {
    @Override
    public TensorCall call(int stream) {
      return open.get(stream);
    }

    @Override
    public void ended(int stream) {
      open.remove(stream);
    }

    @Override
    public void settings(long mostStreams) {}

    @Override
    public void window(long more) {}

    @Override
    public void goingAway(int lastStream, String why) {}
  }

  private static byte[] frame(int type, int flags, int stream, int... contents) {
    byte[] frame = new byte[9 + contents.length];
    frame[2] = (byte) contents.length;
    frame[3] = (byte) type;
    frame[4] = (byte) flags;
    frame[8] = (byte) stream;
    for (int i = 0; i < contents.length; i++) {
      frame[9 + i] = (byte) contents[i];
    }
    return frame;
  }

  static Stream<byte[]> seeds() {
    return Stream.of(
        frame(4, 0, 0, 0, 3, 0, 0, 0, 9),
        frame(6, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8),
        frame(7, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 'x'),
        // HPACK: the indexed field ":status: 200", then "grpc-status: 0" as a literal.
        Fuzzing.joined(
            frame(1, 4, 1, 0x88),
            frame(0, 0, 1, 0, 0, 0, 0, 0),
            frame(1, 5, 1, 0, 11, 'g', 'r', 'p', 'c', '-', 's', 't', 'a', 't', 'u', 's', 1, '0')));
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void read(byte[] bytes) {
    Map<Integer, TensorCall> calls = new HashMap<>();
    for (int stream = 1; stream < 6; stream += 2) {
      calls.put(stream, new TensorCall("the peer"));
    }
    Map<Integer, TensorCall> open = new HashMap<>(calls);
    try (ArrivedBytes arrived = new ArrivedBytes(bytes)) {
      new Http2Frames(arrived.socket(), "peer", new Calls(open)).read();
    } catch (IOException e) {
      // The connection has ended.
    } finally {
      for (TensorCall call : calls.values()) {
        call.failed(MillraceException.internal("The end of the input."));
        call.future()
            .thenAccept(
                r -> {
                  if (r.value() != null) {
                    Refs.release(r.value());
                  }
                });
      }
    }
  }
}
