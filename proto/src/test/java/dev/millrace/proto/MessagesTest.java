package dev.millrace.proto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** Where a message could be declared almost right, that it is right on the wire. */
class MessagesTest {
  private static String hex(com.google.protobuf.MessageLite message) {
    return HexFormat.of().formatHex(message.toByteArray());
  }

  @Test
  void incarnationHasFixedWidth() {
    assertEquals(
        "310807060504030201",
        hex(DeviceAttributes.newBuilder().setIncarnation(0x0102030405060708L).build()));
  }

  @Test
  void newGraphVersionIsFieldFour() {
    assertEquals("2007", hex(ExtendSessionResponse.newBuilder().setNewGraphVersion(7).build()));
  }

  @Test
  void negativeEnumValuesTakeTenBytes() {
    OptimizerOptions options =
        OptimizerOptions.newBuilder().setOptLevel(OptimizerOptions.Level.L0).build();
    assertEquals("18ffffffffffffffffff01", hex(options));
  }

  @Test
  void dimensionOfSizeZeroSurvives() throws Exception {
    TensorShapeProto shape =
        TensorShapeProto.newBuilder().addDim(TensorShapeProto.Dim.getDefaultInstance()).build();
    assertEquals("1200", hex(shape));
    assertEquals(1, TensorShapeProto.parseFrom(shape.toByteArray()).getDimCount());
  }

  @Test
  void emptyListIsNotAbsence() throws Exception {
    AttrValue list =
        AttrValue.newBuilder().setList(AttrValue.ListValue.getDefaultInstance()).build();
    assertEquals("0a00", hex(list));
    assertEquals(AttrValue.ValueCase.LIST, AttrValue.parseFrom(list.toByteArray()).getValueCase());
  }

  @Test
  void extentKnowsWhetherItHasALength() {
    assertFalse(TensorSliceProto.Extent.newBuilder().setStart(2).build().hasLength());
    TensorSliceProto.Extent empty = TensorSliceProto.Extent.newBuilder().setLength(0).build();
    assertTrue(empty.hasLength());
    assertEquals("1000", hex(empty));
  }

  @Test
  void repeatedNumbersAreReadPackedAndUnpacked() throws Exception {
    VersionDef packed = VersionDef.newBuilder().addBadConsumers(3).addBadConsumers(4).build();
    assertEquals("1a020304", hex(packed));
    assertEquals(packed, VersionDef.parseFrom(HexFormat.of().parseHex("18031804")));
  }

  @Test
  void unknownFieldsSurvive() throws Exception {
    UnknownFieldSet extra =
        UnknownFieldSet.newBuilder()
            .mergeField(
                7,
                UnknownFieldSet.Field.newBuilder()
                    .addLengthDelimited(ByteString.copyFromUtf8("from a newer peer"))
                    .build())
            .build();
    NodeDef node = NodeDef.newBuilder().setName("n").setOp("NoOp").setUnknownFields(extra).build();
    GraphDef graph = GraphDef.newBuilder().addNode(node).build();
    GraphDef again = GraphDef.parseFrom(graph.toByteArray());
    assertEquals(extra, again.getNode(0).getUnknownFields());
    assertEquals(graph, again);
  }

  @Test
  void unknownEnumValuesSurvive() throws Exception {
    TensorProto tensor = TensorProto.newBuilder().setDtypeValue(77).build();
    TensorProto again = TensorProto.parseFrom(tensor.toByteArray());
    assertEquals(DataType.UNRECOGNIZED, again.getDtype());
    assertEquals(77, again.getDtypeValue());
    assertEquals(tensor.toByteString(), again.toByteString());
  }
}
