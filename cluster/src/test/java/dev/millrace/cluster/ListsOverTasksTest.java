package dev.millrace.cluster;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A list of tensors that is made on one task and read on others. */
class ListsOverTasksTest {
  private static Scope on(Scope s, int task) {
    return s.withDevice("/job:local/task:" + task);
  }

  private static NodeBuilder op(Scope s, String name) {
    return s.node(name).attr("element_dtype", DType.FLOAT);
  }

  @Test
  void aListGoesThereAndBack() {
    List<String> addresses = FreePorts.addresses(2);
    ClusterSpec cluster = ClusterSpec.of(Map.of("local", addresses));
    Scope scope = Scope.of(StandardOps.newGraph());
    Output made =
        op(on(scope, 0), "TensorListFromTensor")
            .input(Const.of(scope, Tensor.of(Shape.of(2, 2), 1f, 2f, 3f, 4f)))
            .input(Const.ints(scope, 2))
            .add()
            .output();
    Output longer =
        op(on(scope, 1), "TensorListPushBack")
            .input(made)
            .input(Const.of(on(scope, 1), Tensor.vector(5f, 6f)))
            .add()
            .output();
    Output back = Identity.of(on(scope, 0), longer);
    Output all =
        op(on(scope, 0), "TensorListStack").input(back).input(Const.of(scope, -1)).add().output();
    Output there =
        op(on(scope, 1), "TensorListStack").input(made).input(Const.of(scope, -1)).add().output();
    ConfigProto bounded = ConfigProto.newBuilder().setOperationTimeoutInMs(60_000).build();
    try (Server one = Server.start(cluster, new TaskId("local", 0), StandardOps.registry());
        Server two = Server.start(cluster, new TaskId("local", 1), StandardOps.registry())) {
      for (Server master : List.of(one, two)) {
        try (Session s = new ClusterSession(scope.graph(), master.target(), bounded)) {
          for (int i = 0; i < 3; i++) {
            List<Tensor> got = s.run(Map.of(), List.of(all, there), List.of());
            assertArrayEquals(new float[] {1, 2, 3, 4, 5, 6}, got.get(0).toFloats());
            assertArrayEquals(new float[] {1, 2, 3, 4}, got.get(1).toFloats());
          }
        }
      }
    }
  }
}
