package dev.millrace.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.resource.Resources;
import dev.millrace.proto.DataType;
import dev.millrace.proto.TensorProto;
import dev.millrace.proto.TensorShapeProto;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class TensorCodecTest {
  private static TensorProto.Builder proto(DataType type, long... dims) {
    TensorShapeProto.Builder shape = TensorShapeProto.newBuilder();
    Arrays.stream(dims).forEach(d -> shape.addDim(TensorShapeProto.Dim.newBuilder().setSize(d)));
    return TensorProto.newBuilder().setDtype(type).setTensorShape(shape);
  }

  private static void refused(TensorProto p, String... words) {
    MillraceException e = assertThrows(MillraceException.class, () -> TensorCodec.decode(p));
    assertEquals(Code.INVALID_ARGUMENT, e.code());
    for (String word : words) {
      assertTrue(e.getMessage().contains(word), e::getMessage);
    }
  }

  @ParameterizedTest
  @EnumSource
  void encodedAndDecodedIsTheSame(DType type) {
    if (!type.isPlain()) {
      return;
    }
    Tensor t = Tensor.allocate(type, Shape.of(3, 5));
    for (long i = 0; i < t.byteSize(); i++) {
      byte b = type == DType.BOOL ? (byte) (i % 2) : (byte) (17 * i);
      t.data().set(java.lang.foreign.ValueLayout.JAVA_BYTE, i, b);
    }
    assertTrue(TensorCodec.same(t, TensorCodec.decode(TensorCodec.encode(t))));
  }

  @Test
  void stringsComeThroughInBothForms() {
    Tensor t = Tensor.of(Shape.of(2, 2), "", "a", "\u00e4\u20ac", "x".repeat(300));
    assertTrue(TensorCodec.same(t, TensorCodec.decode(TensorCodec.encode(t))));
    TensorProto readable = TensorCodec.encodeConstant(t);
    assertEquals("a", readable.getStringVal(1).toStringUtf8());
    assertTrue(TensorCodec.same(t, TensorCodec.decode(readable)));
  }

  @Test
  void handlesComeThrough() {
    Resources.Handle h = new Resources.Handle("/device:CPU:0", "c", "v", "Variable");
    Tensor t = Tensor.ofObjects(DType.RESOURCE, Shape.scalar(), new Object[] {h});
    assertEquals(h, TensorCodec.decode(TensorCodec.encode(t)).objects()[0]);
  }

  @Test
  void theLastValueStandsForTheRest() {
    TensorProto p = proto(DataType.DT_FLOAT, 2, 3).addFloatVal(1).addFloatVal(2).build();
    assertArrayEquals(new float[] {1, 2, 2, 2, 2, 2}, TensorCodec.decode(p).toFloats());
  }

  @Test
  void noValueMeansZero() {
    assertArrayEquals(
        new long[3], TensorCodec.decode(proto(DataType.DT_INT64, 3).build()).toLongs());
  }

  @Test
  void valuesBeyondTheShapeAreIgnored() {
    TensorProto p = proto(DataType.DT_INT32, 1).addIntVal(4).addIntVal(5).build();
    assertArrayEquals(new long[] {4}, TensorCodec.decode(p).toLongs());
  }

  @Test
  void halvesAreGivenByTheirBits() {
    TensorProto p = proto(DataType.DT_HALF, 2).addHalfVal(0x3c00).addHalfVal(0xc000).build();
    assertArrayEquals(new float[] {1, -2}, TensorCodec.decode(p).toFloats());
  }

  @Test
  void unknownRankAndDimensionsComeThroughInShapes() {
    for (Shape s : new Shape[] {Shape.unknown(), Shape.scalar(), Shape.of(-1, 3, 0)}) {
      assertEquals(s, TensorCodec.decode(TensorCodec.encode(s)));
    }
  }

  @Test
  void contentOfTheWrongLengthIsRefused() {
    ByteString seven = ByteString.copyFrom(new byte[7]);
    refused(proto(DataType.DT_FLOAT, 2).setTensorContent(seven).build(), "needs 8 bytes", "7");
  }

  @Test
  void anUnknownShapeIsRefused() {
    refused(proto(DataType.DT_FLOAT, -1).build(), "unknown shape");
  }

  @Test
  void aShapeBelowMinusOneIsRefused() {
    refused(proto(DataType.DT_FLOAT, -7).build());
  }

  @Test
  void aShapeThatOverflowsIsRefused() {
    refused(proto(DataType.DT_FLOAT, 1L << 40, 1L << 40).build());
    refused(proto(DataType.DT_DOUBLE, Long.MAX_VALUE).build());
  }

  @Test
  void aFewBytesCannotAskForTerabytes() {
    refused(proto(DataType.DT_FLOAT, 1L << 40).addFloatVal(1).build(), "in full");
    refused(proto(DataType.DT_STRING, 1L << 31).build(), "0 values");
  }

  @Test
  void malformedStringsAreRefused() {
    ByteString lengthOnly = ByteString.copyFrom(new byte[] {100, 1});
    refused(proto(DataType.DT_STRING, 1).setTensorContent(lengthOnly).build(), "malformed");
    ByteString leftOver = ByteString.copyFrom(new byte[] {1, 'a', 'b'});
    refused(proto(DataType.DT_STRING, 1).setTensorContent(leftOver).build(), "left over");
  }

  @Test
  void anUnknownTypeIsRefused() {
    refused(TensorProto.newBuilder().setDtypeValue(77).build());
    refused(TensorProto.newBuilder().build());
  }

  @Test
  void garbageIsNotATensor() {
    byte[] garbage = {(byte) 0xff, 1, 2, 3};
    MillraceException e = assertThrows(MillraceException.class, () -> TensorCodec.parse(garbage));
    assertTrue(e.getMessage().startsWith("4 bytes are not a TensorProto"), e::getMessage);
  }
}
