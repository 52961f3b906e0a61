package dev.millrace.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Eager;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.proto.DataType;
import dev.millrace.proto.TensorProto;
import dev.millrace.proto.TensorShapeProto;
import dev.millrace.proto.VariantTensorDataProto;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** Lists and optionals as TensorFlow writes and reads them. */
class VariantCodecTest {
  /**
   * What TensorFlow's SerializeTensor makes of a list of three, elements of shape [2, ?], of which
   * the second is set.
   */
  private static final byte[] OF_TENSORFLOW =
      HexFormat.of()
          .parseHex(
              "081512002252510a1674656e736f72666c6f773a3a54656e736f724c697374121f02000201ffffff"
                  + "ffffffffffff0112020802120b08ffffffffffffffffff011a1608011208120208021202"
                  + "08012a080000803f00000040");

  private final Scope scope = Scope.of(StandardOps.newGraph());

  /** Output {@code i} of an op on these values. */
  private Tensor run(int i, NodeBuilder node, Tensor... inputs) {
    for (Tensor t : inputs) {
      Output in = Placeholder.of(scope, t.dtype(), t.shape());
      node.input(in);
    }
    Tensor[] outputs = Eager.run(node.add(), inputs);
    Tensor result = Refs.handle(Refs.retain(outputs[i]));
    Refs.releaseAll(outputs);
    return result;
  }

  private NodeBuilder op(String name) {
    return scope.node(name).attr("element_dtype", DType.FLOAT);
  }

  private Tensor list() {
    Tensor empty =
        run(
            0,
            op("TensorListReserve").attr("shape_type", DType.INT32),
            Tensor.vector(2, -1),
            Tensor.scalar(3));
    return run(
        0, op("TensorListSetItem"), empty, Tensor.scalar(1), Tensor.of(Shape.of(2, 1), 1f, 2f));
  }

  private float[] stacked(Tensor list) {
    return run(0, op("TensorListStack"), list, Tensor.scalar(-1)).toFloats();
  }

  @Test
  void aListIsWrittenAsTensorFlowDoes() throws Exception {
    TensorProto p = TensorProto.parseFrom(OF_TENSORFLOW);
    int length = p.getTensorContent().byteAt(0);
    VariantTensorDataProto theirs =
        VariantTensorDataProto.parseFrom(p.getTensorContent().substring(1, 1 + length));
    TensorProto q = TensorCodec.encode(list());
    ByteString content = q.getTensorContent();
    VariantTensorDataProto ours =
        VariantTensorDataProto.parseFrom(content.substring(1, 1 + content.byteAt(0)));
    assertEquals(theirs.getTypeName(), ours.getTypeName());
    assertEquals(theirs.getMetadata(), ours.getMetadata());
    assertEquals(1, ours.getTensorsCount());
    assertArrayEquals(new float[] {1, 2}, TensorCodec.decode(ours.getTensors(0)).toFloats());
  }

  @Test
  void aListIsReadAsTensorFlowWritesIt() throws Exception {
    Tensor list = TensorCodec.decode(TensorProto.parseFrom(OF_TENSORFLOW));
    float[] all = {0, 0, 1, 2, 0, 0};
    assertArrayEquals(all, stacked(list));
    assertArrayEquals(all, stacked(list), "once more");
    // Sent on before anybody has looked into it, and after.
    assertArrayEquals(all, stacked(TensorCodec.decode(TensorCodec.encode(list))));
    Tensor unread = TensorCodec.decode(TensorProto.parseFrom(OF_TENSORFLOW));
    assertArrayEquals(all, stacked(TensorCodec.decode(TensorCodec.encode(unread))));
    Tensor bounded =
        run(
            0,
            op("EmptyTensorList").attr("shape_type", DType.INT32),
            Tensor.scalar(-1),
            Tensor.scalar(0));
    Tensor again = TensorCodec.decode(TensorCodec.encode(bounded));
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () -> run(0, op("TensorListPushBack"), again, Tensor.scalar(1f)));
    assertTrue(e.getMessage().contains("full list"), e::getMessage);
  }

  @Test
  void anOptionalComesThrough() {
    Tensor some = run(0, scope.node("OptionalFromValue"), Tensor.scalar(5f));
    Tensor none = run(0, scope.node("OptionalNone"));
    for (Tensor t : new Tensor[] {some, none}) {
      Tensor there = TensorCodec.decode(TensorCodec.encode(t));
      assertEquals(t == some ? 1 : 0, run(0, scope.node("OptionalHasValue"), there).longValue());
    }
  }

  private static TensorProto variant(VariantTensorDataProto v) {
    return TensorProto.newBuilder()
        .setDtype(DataType.DT_VARIANT)
        .setTensorShape(TensorShapeProto.getDefaultInstance())
        .setTensorContent(framed(v.toByteString()))
        .build();
  }

  private static ByteString framed(ByteString bytes) {
    ByteString.Output out = ByteString.newOutput();
    for (int n = bytes.size(); ; n >>>= 7) {
      out.write(n < 128 ? n : n & 127 | 128);
      if (n < 128) {
        return out.toByteString().concat(bytes);
      }
    }
  }

  @Test
  void aDamagedListIsRefused() {
    VariantTensorDataProto.Builder b =
        VariantTensorDataProto.newBuilder().setTypeName("tensorflow::TensorList");
    byte[][] damaged = {
      {}, // nothing
      {(byte) 255, (byte) 255, (byte) 255, (byte) 255, 7}, // two thousand million unset elements
      {1, 9, 1, 0}, // the tenth of one is unset
      {0, 99, 0}, // a type that does not exist
      {0, 1, 0, 18, 50}, // half a shape
    };
    for (byte[] metadata : damaged) {
      Tensor t = TensorCodec.decode(variant(b.setMetadata(ByteString.copyFrom(metadata)).build()));
      MillraceException e = assertThrows(MillraceException.class, () -> stacked(t));
      assertTrue(e.getMessage().contains("malformed"), e::getMessage);
    }
  }

  @Test
  void variantsInVariantsEndSomewhere() {
    VariantTensorDataProto v = VariantTensorDataProto.newBuilder().setTypeName("int").build();
    for (int i = 0; i < 1000; i++) {
      v = VariantTensorDataProto.newBuilder().setTypeName("int").addTensors(variant(v)).build();
    }
    TensorProto deep = variant(v);
    MillraceException e = assertThrows(MillraceException.class, () -> TensorCodec.decode(deep));
    assertTrue(e.getMessage().contains("nested"), e::getMessage);
  }
}
