package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.FunctionGraph;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.proto.DataType;
import dev.millrace.proto.FunctionDef;
import dev.millrace.proto.FunctionDefLibrary;
import dev.millrace.proto.NodeDef;
import dev.millrace.proto.OpDef;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A dataset runs on the task it is placed on, whichever master the session is with. */
class DatasetsOnTasksTest {
  private static final List<DType> LONG = List.of(DType.INT64);
  private static final List<Shape> SCALAR = List.of(Shape.scalar());

  /** {@code x + x}, as a client's GraphDef has it: only the definition travels. */
  private static AttrValue.Func twice() {
    OpDef.ArgDef.Builder x = OpDef.ArgDef.newBuilder().setName("x").setType(DataType.DT_INT64);
    OpDef.ArgDef.Builder y = OpDef.ArgDef.newBuilder().setName("y").setType(DataType.DT_INT64);
    dev.millrace.proto.AttrValue type =
        dev.millrace.proto.AttrValue.newBuilder().setType(DataType.DT_INT64).build();
    NodeDef sum =
        NodeDef.newBuilder()
            .setName("sum")
            .setOp("AddV2")
            .addInput("x")
            .addInput("x")
            .putAttr("T", type)
            .build();
    FunctionDef f =
        FunctionDef.newBuilder()
            .setSignature(OpDef.newBuilder().setName("twice").addInputArg(x).addOutputArg(y))
            .addNodeDef(sum)
            .putRet("y", "sum:z:0")
            .build();
    FunctionDefLibrary library = FunctionDefLibrary.newBuilder().addFunction(f).build();
    return new AttrValue.Func(
        "twice", Map.of(), new FunctionGraph(StandardOps.newGraph(), LONG, LONG, library));
  }

  private static NodeBuilder typed(Scope s, String op) {
    return s.node(op).attr("output_types", LONG).attr("output_shapes", SCALAR);
  }

  private static Output number(Scope s, long v) {
    return Const.of(s, Tensor.scalar(v));
  }

  /** An iterator that is called {@code name} by all sessions, or has no name but the node's. */
  private static Node[] pipeline(Graph g, String name) {
    Scope s = Scope.of(g).withDevice("/job:worker/task:0");
    Output range =
        typed(s, "RangeDataset")
            .input(number(s, 1))
            .input(number(s, 4))
            .input(number(s, 1))
            .add()
            .output(0);
    Output mapped =
        typed(s, "MapDataset").input(range).inputs(List.of()).attr("f", twice()).add().output(0);
    Output ahead = typed(s, "PrefetchDataset").input(mapped).input(number(s, 1)).add().output(0);
    Output iterator =
        typed(s, "IteratorV2").attr("shared_name", name).attr("container", "").add().output(0);
    return new Node[] {
      s.node("MakeIterator").input(ahead).input(iterator).add(),
      typed(s, "IteratorGetNext").input(iterator).add()
    };
  }

  private static boolean isPrefetching() {
    return Thread.getAllStackTraces().keySet().stream()
        .anyMatch(t -> t.getName().equals("millrace-prefetch"));
  }

  private static long take(Session s, Node next) {
    try (Tensor t = s.fetch(next.output(0))) {
      return t.longValue();
    }
  }

  @Test
  void anIteratorIsItsSessionsUnlessItHasAName() throws InterruptedException {
    List<String> a = FreePorts.addresses(2);
    ClusterSpec cluster =
        ClusterSpec.of(Map.of("ps", List.of(a.get(0)), "worker", List.of(a.get(1))));
    try (Server ps = Server.start(cluster, new TaskId("ps", 0), StandardOps.registry());
        Server worker = Server.start(cluster, new TaskId("worker", 0), StandardOps.registry())) {
      for (Server master : List.of(ps, worker)) {
        for (String name : List.of("", "of " + master.target())) {
          Graph g = StandardOps.newGraph();
          Node[] own = pipeline(g, name);
          String target = master.target().replace("localhost", "127.0.0.1");
          try (Session first = new ClusterSession(g, target);
              Session second = new ClusterSession(g, target)) {
            first.run(own[0]);
            assertEquals(2, take(first, own[1]));
            if (name.isEmpty()) {
              MillraceException e =
                  assertThrows(MillraceException.class, () -> take(second, own[1]));
              assertEquals(Code.FAILED_PRECONDITION, e.code(), e.getMessage());
            } else {
              assertEquals(4, take(second, own[1]));
            }
          }
        }
      }
    }
    long deadline = System.nanoTime() + 20_000_000_000L;
    while (isPrefetching()) {
      assertTrue(System.nanoTime() < deadline, "a thread that prefetches goes on");
      Thread.sleep(5);
    }
  }
}
