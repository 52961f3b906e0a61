package dev.millrace.proto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Messages serialised by TensorFlow 2.21 say here what they said there, and go back unchanged. */
class TensorFlowBytesTest {
  /** Parses and checks that serialising gives the very same bytes. */
  private static <M extends MessageLite> M readBack(Parser<M> parser, String hex) throws Exception {
    M message = parser.parseFrom(HexFormat.of().parseHex(hex));
    assertEquals(hex, HexFormat.of().formatHex(message.toByteArray()));
    return message;
  }

  @Test
  void config() throws Exception {
    ConfigProto c =
        readBack(
            ConfigProto.parser(),
            "0a070a03435055100222072f6a6f623a70733801521e1a1618ffffffffffffffffff0128ffffffffffffff"
                + "ffff0152041802600258b8177801820103c00101");
    assertEquals(Map.of("CPU", 2), c.getDeviceCountMap());
    assertEquals(List.of("/job:ps"), c.getDeviceFiltersList());
    assertTrue(c.getAllowSoftPlacement());
    assertTrue(c.getIsolateSessionState());
    assertEquals(3000, c.getOperationTimeoutInMs());
    OptimizerOptions o = c.getGraphOptions().getOptimizerOptions();
    assertEquals(OptimizerOptions.Level.L0, o.getOptLevel());
    assertEquals(OptimizerOptions.GlobalJitLevel.OFF, o.getGlobalJitLevel());
    RewriterConfig r = c.getGraphOptions().getRewriteOptions();
    assertEquals(RewriterConfig.Toggle.OFF, r.getConstantFolding());
    assertTrue(r.getUnknownFields().hasField(12), "a field not declared here is kept");
    assertTrue(c.getExperimental().getDisableOptimizeForStaticGraph());
  }

  @Test
  void server() throws Exception {
    // Two tasks in one map: TensorFlow's order of entries is its own, so bytes may differ.
    ServerDef s =
        ServerDef.parseFrom(
            HexFormat.of()
                .parseHex(
                    "0a4c0a180a02707312120800120e6c6f63616c686f73743a323232320a300a06776f726b6572"
                        + "12120801120e6c6f63616c686f73743a3232323412120800120e6c6f63616c686f73743a32"
                        + "3232331206776f726b657218012a0467727063"));
    assertEquals("worker", s.getJobName());
    assertEquals(1, s.getTaskIndex());
    assertEquals("grpc", s.getProtocol());
    assertEquals(Map.of(0, "localhost:2222"), s.getCluster().getJob(0).getTasksMap());
    assertEquals(
        Map.of(0, "localhost:2223", 1, "localhost:2224"), s.getCluster().getJob(1).getTasksMap());
  }

  @Test
  void device() throws Exception {
    DeviceAttributes d =
        readBack(
            DeviceAttributes.parser(),
            "0a292f6a6f623a776f726b65722f7265706c6963613a302f7461736b3a302f6465766963653a4350553a30"
                + "12034350552080808080012a00311032547698badcfe40ffffffffffffffffff01");
    assertEquals("/job:worker/replica:0/task:0/device:CPU:0", d.getName());
    assertEquals(0xfedcba9876543210L, d.getIncarnation());
    assertEquals(256 << 20, d.getMemoryLimit());
    assertEquals(-1, d.getXlaGlobalId());
    assertTrue(d.hasLocality());
  }

  @Test
  void graphOfAVariable() throws Exception {
    GraphDef g =
        readBack(
            GraphDef.parser(),
            "0a97010a0176120a5661726961626c655632220e2f6a6f623a70732f7461736b3a302a140a065f636c6173"
                + "73120a0a0812066c6f633a40762a1c0a0e5f6f75747075745f736861706573120a0a083a06120208"
                + "0212002a0f0a09636f6e7461696e6572120212002a0b0a056474797065120230012a110a05736861"
                + "706512083a061202080212002a110a0b7368617265645f6e616d6512021200220308aa13");
    NodeDef v = g.getNode(0);
    assertEquals("VariableV2", v.getOp());
    assertEquals("/job:ps/task:0", v.getDevice());
    assertEquals(DataType.DT_FLOAT, v.getAttrOrThrow("dtype").getType());
    TensorShapeProto shape = v.getAttrOrThrow("shape").getShape();
    assertEquals(2, shape.getDim(0).getSize());
    assertEquals(0, shape.getDim(1).getSize());
    assertEquals(ByteString.copyFromUtf8("loc:@v"), v.getAttrOrThrow("_class").getList().getS(0));
    assertEquals(AttrValue.ValueCase.S, v.getAttrOrThrow("container").getValueCase());
    assertEquals(2474, g.getVersions().getProducer());
  }

  @Test
  void bundleEntry() throws Exception {
    BundleEntryProto e =
        readBack(BundleEntryProto.parser(), "08011209120308ac02120208021801201828e01235efbeadde");
    assertEquals(0xdeadbeef, e.getCrc32C());
    assertEquals(24, e.getOffset());
    assertEquals(2400, e.getSize());
    assertEquals(1, e.getShardId());
  }

  @Test
  void event() throws Exception {
    Event e = readBack(Event.parser(), "09000000000000f83f10072a0d0a0b0a046c6f7373150000803e");
    assertEquals(1.5, e.getWallTime());
    assertEquals(7, e.getStep());
    assertEquals(0.25f, e.getSummary().getValue(0).getSimpleValue());
  }

  @Test
  void stringTensor() throws Exception {
    TensorProto t = readBack(TensorProto.parser(), "08071204120208034202616242004203636465");
    assertEquals(DataType.DT_STRING, t.getDtype());
    assertEquals("cde", t.getStringVal(2).toStringUtf8());
  }

  @Test
  void example() throws Exception {
    Example e =
        readBack(
            Example.parser(),
            "0a280a110a0178120c120a0a080000803f000000400a130a0179120e1a0c0a0affffffffffffffffff01");
    assertEquals(
        List.of(1f, 2f), e.getFeatures().getFeatureOrThrow("x").getFloatList().getValueList());
    assertEquals(-1, e.getFeatures().getFeatureOrThrow("y").getInt64List().getValue(0));
  }
}
