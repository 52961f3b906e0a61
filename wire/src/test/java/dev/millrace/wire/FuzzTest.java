package dev.millrace.wire;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.ops.StandardOps;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Messages damaged at random are either understood or refused with a MillraceException: never
 * another exception, never for long, never for much memory. {@code -Dmillrace.fuzz.seconds} says
 * how long to try, {@code -Dmillrace.seed} where to begin.
 */
class FuzzTest {
  private static final long NANOS =
      (long) (1e9 * Double.parseDouble(System.getProperty("millrace.fuzz.seconds", "2")));

  private static final long SEED = Long.getLong("millrace.seed", 20_26);

  /** One message may take this long on a busy machine. */
  private static final long SLOW_NANOS = 5_000_000_000L;

  /** What all messages together may have made the pool take from the system. */
  private static final long MUCH = 3L << 30;

  private interface Reader {
    void read(byte[] message);
  }

  private static void fuzz(List<byte[]> samples, Reader reader) {
    System.out.println("messages from -Dmillrace.seed=" + SEED + " on");
    long end = System.nanoTime() + NANOS;
    int count = 0;
    for (long seed = SEED; System.nanoTime() < end; seed++) {
      Random random = new Random(seed);
      byte[] message = damaged(samples.get(random.nextInt(samples.size())), random);
      long start = System.nanoTime();
      try {
        reader.read(message);
      } catch (MillraceException e) {
        assertTrue(!e.getMessage().isBlank(), () -> HexFormat.of().formatHex(message));
      } catch (Throwable t) {
        fail("-Dmillrace.seed=" + seed + " breaks it: " + HexFormat.of().formatHex(message), t);
      }
      long took = System.nanoTime() - start;
      long failed = seed;
      assertTrue(took < SLOW_NANOS, () -> "-Dmillrace.seed=" + failed + " takes " + took + " ns");
      count++;
    }
    assertTrue(count > 20, "only " + count + " messages were tried");
    long bytes = BufferPool.current().nativeBytes();
    assertTrue(bytes < MUCH, () -> "the messages took " + bytes + " bytes");
  }

  /** Flips, inserts, removes and repeats some bytes, or cuts the end off. */
  private static byte[] damaged(byte[] sample, Random random) {
    byte[] m = sample.clone();
    int changes = 1 + random.nextInt(4);
    for (int i = 0; i < changes && m.length > 0; i++) {
      int at = random.nextInt(m.length);
      switch (random.nextInt(5)) {
        case 0 -> m[at] ^= (byte) (1 << random.nextInt(8));
        case 1 -> m[at] = (byte) random.nextInt();
        case 2 -> m = spliced(m, at, 0, new byte[] {(byte) random.nextInt()});
        case 3 -> m = spliced(m, at, Math.min(m.length - at, 1 + random.nextInt(8)), new byte[0]);
        default -> m = java.util.Arrays.copyOf(m, at);
      }
    }
    return m;
  }

  private static byte[] spliced(byte[] m, int at, int removed, byte[] inserted) {
    byte[] out = new byte[m.length - removed + inserted.length];
    System.arraycopy(m, 0, out, 0, at);
    System.arraycopy(inserted, 0, out, at, inserted.length);
    System.arraycopy(m, at + removed, out, at + inserted.length, m.length - at - removed);
    return out;
  }

  @Test
  void damagedGraphsAreUnderstoodOrRefused() {
    fuzz(
        List.of(
            GraphCodec.encode(GraphCodecTest.sample()).toByteArray(),
            FunctionLoweringTest.sample().toByteArray()),
        message -> {
          Graph g = StandardOps.newGraph();
          GraphCodec.parseInto(message, g);
          GraphCodec.encode(g);
        });
  }

  @Test
  void damagedTensorsAreUnderstoodOrRefused() {
    fuzz(
        List.of(
            TensorCodec.encode(Tensor.of(Shape.of(2, 3), 1f, 2f, 3f, 4f, 5f, 6f)).toByteArray(),
            TensorCodec.encode(Tensor.of(Shape.of(2), "ab", "c")).toByteArray(),
            TensorCodec.encodeConstant(Tensor.of(Shape.of(3), "x", "yz", "")).toByteArray(),
            dev.millrace.proto.TensorProto.newBuilder()
                .setDtype(dev.millrace.proto.DataType.DT_INT64)
                .setTensorShape(TensorCodec.encode(Shape.of(4)))
                .addInt64Val(9)
                .build()
                .toByteArray()),
        message -> TensorCodec.parse(message).close());
  }
}
