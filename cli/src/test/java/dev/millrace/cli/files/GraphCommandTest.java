package dev.millrace.cli.files;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.TextFormat;
import dev.millrace.cli.Ran;
import dev.millrace.examples.mnist.MnistModel;
import dev.millrace.examples.mnist.Network;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.MetaGraphDef;
import dev.millrace.proto.NodeDef;
import dev.millrace.train.ReplicaDeviceSetter;
import dev.millrace.train.optimizer.GradientDescent;
import dev.millrace.wire.GraphCodec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GraphCommandTest {
  @TempDir Path dir;

  private static GraphDef softmax() {
    Scope scope = Scope.of(StandardOps.newGraph()).withDevice(ReplicaDeviceSetter.of(2));
    MnistModel m = MnistModel.build(scope, Network.SOFTMAX, new GradientDescent(.1f)::minimize);
    return GraphCodec.encode(m.graph());
  }

  @Test
  void summaryHasInputsVariablesOpsAndDevices() throws IOException {
    Path file = dir.resolve("graph.pb");
    Files.write(file, softmax().toByteArray());
    String out = Ran.millrace("graph", file.toString()).succeeded();
    assertTrue(out.contains("3 variables with 7,851 elements"), out);
    assertTrue(out.lines().anyMatch(l -> l.matches("images +float +\\[\\?, 784\\].*")), out);
    assertTrue(
        out.lines().anyMatch(l -> l.matches("softmax/kernel +float +\\[784, 10\\].*/job:ps.*")),
        out);
    assertTrue(out.contains("ApplyGradientDescent"), out);
    assertTrue(out.contains("Millrace has every op in it."), out);
  }

  @Test
  void textAndMetaGraphsAreReadToo() throws IOException {
    Path text = dir.resolve("graph.pbtxt");
    Files.writeString(text, TextFormat.printer().printToString(softmax()));
    assertTrue(Ran.millrace("graph", text.toString()).succeeded().contains("softmax/kernel"));
    // As a training leaves it.
    assertTrue(Ran.millrace("graph", dir.toString()).succeeded().contains("softmax/kernel"));
    Path meta = dir.resolve("model.ckpt-1.meta");
    Files.write(meta, MetaGraphDef.newBuilder().setGraphDef(softmax()).build().toByteArray());
    String json = Ran.millrace("graph", meta.toString(), "--json").succeeded();
    assertTrue(json.contains("\"parameters\": 7851"), json);
  }

  @Test
  void opsThatAreNotHereAreNamed() throws IOException {
    Path file = dir.resolve("graph.pb");
    GraphDef g =
        GraphDef.newBuilder().addNode(NodeDef.newBuilder().setName("n").setOp("XlaLaunch")).build();
    Files.write(file, g.toByteArray());
    String out = Ran.millrace("graph", file.toString()).succeeded();
    assertTrue(out.contains("does not have these ops: XlaLaunch"), out);
  }

  @Test
  void whatIsNoGraphIsRefused() throws IOException {
    Path file = dir.resolve("graph.pb");
    Files.write(file, new byte[] {-1, -1, -1, 3});
    Ran.millrace("graph", file.toString()).wasRefusedFor(file.toString(), "not a graph");
    Path none = dir.resolve("none.pb");
    Ran.millrace("graph", none.toString()).wasRefusedFor(none.toString());
    Ran.millrace("graph", dir.toString()).wasRefusedFor("no graph in " + dir, "graph.pbtxt");
  }
}
