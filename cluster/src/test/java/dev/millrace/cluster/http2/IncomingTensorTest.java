package dev.millrace.cluster.http2;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.millrace.proto.RecvTensorResponse;
import dev.millrace.proto.TensorProto;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.TensorCodec;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The answer to RecvTensor may arrive cut anywhere, and may be anything. */
class IncomingTensorTest {
  private static byte[] message(RecvTensorResponse r) {
    byte[] m = r.toByteArray();
    return ByteBuffer.allocate(5 + m.length).put((byte) 0).putInt(m.length).put(m).array();
  }

  /** As our own server sends it. */
  private static byte[] message(Tensor t) {
    TensorResponse r = TensorResponse.of(Refs.copy(t));
    byte[] elements = r.elements().data().toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
    Refs.release(r.elements());
    return ByteBuffer.allocate(r.head().length + elements.length)
        .put(r.head())
        .put(elements)
        .array();
  }

  /** Feeds the bytes in pieces of random length, by either way in. */
  private static ReceivedTensor read(byte[] bytes, Random random) throws IOException {
    IncomingTensor in = new IncomingTensor();
    try {
      for (int at = 0; at < bytes.length; ) {
        int n = Math.min(bytes.length - at, 1 + random.nextInt(random.nextBoolean() ? 3 : 40_000));
        ByteBuffer piece = ByteBuffer.allocateDirect(n).put(bytes, at, n).flip();
        if (in.takesElements() && random.nextBoolean()) {
          ByteBuffer room = in.room().asByteBuffer();
          n = Math.min(n, room.remaining());
          room.put(piece.limit(n));
          in.filled(n);
        } else {
          in.take(piece);
        }
        at += n;
      }
      return in.end();
    } finally {
      in.release();
    }
  }

  private static float[] numbers(int n) {
    float[] f = new float[n];
    for (int i = 0; i < n; i++) {
      f[i] = (i * 7919) % 1000;
    }
    return f;
  }

  @Test
  void cutsDoNotMatter() throws IOException {
    Random random = new Random(5);
    for (int n : new int[] {0, 1, 100, 5_000, 70_000}) {
      byte[] bytes = message(Tensor.of(Shape.of(n), numbers(n)));
      for (int i = 0; i < 20; i++) {
        Tensor t = read(bytes, random).value();
        assertArrayEquals(numbers(n), t.toFloats());
        Refs.release(t);
      }
    }
  }

  @Test
  void anyOrderOfFieldsAndAnyFormIsRead() throws IOException {
    Random random = new Random(6);
    TensorProto values =
        TensorProto.newBuilder()
            .setDtypeValue(DType.FLOAT.number())
            .setTensorShape(TensorCodec.encode(Shape.of(6_000)))
            .addFloatVal(2.5f)
            .build();
    TensorProto content =
        TensorProto.newBuilder()
            .setDtypeValue(DType.INT32.number())
            .setTensorShape(TensorCodec.encode(Shape.of(50, 100)))
            .setVersionNumber(1)
            .setTensorContent(ByteString.copyFrom(new byte[20_000]))
            .build();
    for (TensorProto p : new TensorProto[] {values, content}) {
      RecvTensorResponse r = RecvTensorResponse.newBuilder().setTensor(p).build();
      Tensor t = read(message(r), random).value();
      assertEquals(TensorCodec.decode(p).toString(), t.toString());
      Refs.release(t);
    }
  }

  @Test
  void whatFollowsTheTensorCounts() throws IOException {
    TensorProto p =
        TensorProto.newBuilder()
            .setDtypeValue(DType.FLOAT.number())
            .setTensorShape(TensorCodec.encode(Shape.of(10_000)))
            .setTensorContent(ByteString.copyFrom(new byte[40_000]))
            .build();
    RecvTensorResponse.Builder r = RecvTensorResponse.newBuilder().setTensor(p);
    ReceivedTensor alive = read(message(r.setSendStartMicros(99).build()), new Random(1));
    assertEquals(Shape.of(10_000), alive.value().shape());
    Refs.release(alive.value());
    ReceivedTensor dead = read(message(r.setIsDead(true).build()), new Random(1));
    assertTrue(dead.dead());
    assertNull(dead.value());
  }

  @Test
  void whatIsWrongIsRefused() {
    TensorProto p =
        TensorProto.newBuilder()
            .setDtypeValue(DType.FLOAT.number())
            .setTensorShape(TensorCodec.encode(Shape.of(9_999)))
            .setTensorContent(ByteString.copyFrom(new byte[40_000]))
            .build();
    byte[] wrongSize = message(RecvTensorResponse.newBuilder().setTensor(p).build());
    byte[] good = message(Tensor.of(Shape.of(9_000), numbers(9_000)));
    byte[] compressed = good.clone();
    compressed[0] = 1;
    byte[] two = ByteBuffer.allocate(2 * good.length).put(good).put(good).array();
    byte[] half = java.util.Arrays.copyOf(good, good.length / 2);
    byte[] negative = good.clone();
    negative[1] = (byte) 0xFF;
    for (byte[] bytes : new byte[][] {wrongSize, compressed, two, half, negative}) {
      assertThrows(IOException.class, () -> read(bytes, new Random(2)));
    }
  }

  @Test
  void randomDamageNeverDoesMoreThanFail() {
    Random random = new Random(7);
    byte[] good = message(Tensor.of(Shape.of(9_000), numbers(9_000)));
    for (int i = 0; i < 2_000; i++) {
      byte[] bad = good.clone();
      bad[random.nextInt(40)] = (byte) random.nextInt();
      try {
        ReceivedTensor r = read(bad, random);
        if (r.value() != null) {
          Refs.release(r.value());
        }
      } catch (IOException | RuntimeException e) {
        assertTrue(
            e instanceof IOException || e instanceof dev.millrace.base.MillraceException,
            () -> e.toString());
      }
    }
  }
}
