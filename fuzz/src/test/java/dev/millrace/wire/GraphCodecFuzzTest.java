package dev.millrace.wire;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.millrace.base.MillraceException;
import dev.millrace.fuzz.Fuzzing;
import dev.millrace.graph.Graph;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.AttrValue;
import dev.millrace.proto.DataType;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NodeDef;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Messages of any bytes are read as graphs or refused. */
class GraphCodecFuzzTest {
  private static final AttrValue FLOAT = AttrValue.newBuilder().setType(DataType.DT_FLOAT).build();

  static Stream<byte[]> seeds() {
    return Stream.of(
        GraphDef.newBuilder()
            .addNode(NodeDef.newBuilder().setName("x").setOp("Placeholder").putAttr("dtype", FLOAT))
            .addNode(
                NodeDef.newBuilder()
                    .setName("y")
                    .setOp("MatMul")
                    .addInput("x")
                    .addInput("x:0")
                    .putAttr("T", FLOAT))
            .addNode(
                NodeDef.newBuilder()
                    .setName("z")
                    .setOp("Identity")
                    .addInput("y")
                    .addInput("^x")
                    .putAttr("T", FLOAT))
            .build()
            .toByteArray());
  }

  @MethodSource("seeds")
  @FuzzTest(maxDuration = Fuzzing.TIME)
  void parse(byte[] bytes) {
    Graph graph = StandardOps.newGraph();
    try {
      GraphCodec.parseInto(bytes, graph);
      var _ = GraphCodec.encode(graph);
    } catch (MillraceException e) {
      // Refused.
    }
  }
}
