package dev.millrace.cli.cluster;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.RunOptions;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/**
 * Reads the global step of a running job from whichever task holds it, by a session of its own. It
 * asks for a variable of either kind by the name training gives it.
 */
final class StepReader implements AutoCloseable {
  private static final String NAME = "global_step";

  private final ClusterSession session;
  private final RunOptions options;
  private final List<Output> initialized = new ArrayList<>();
  private final List<Output> values = new ArrayList<>();

  /** Reads through the master of the first of {@code tasks}, which all must be up. */
  StepReader(List<ClusterView.Answer> tasks, Duration patience) {
    Graph graph = StandardOps.newGraph();
    ConfigProto.Builder config =
        ConfigProto.newBuilder().setOperationTimeoutInMs(patience.toMillis());
    for (ClusterView.Answer a : tasks) {
      config.addDeviceFilters(a.task().name());
      Scope scope = Scope.of(graph).withDevice(a.task().cpu(0));
      addReference(scope);
      addResource(scope);
    }
    options = RunOptions.DEFAULT.withTimeout(patience);
    session = new ClusterSession(graph, "grpc://" + tasks.getFirst().address(), config.build());
  }

  private void addReference(Scope scope) {
    Output v =
        scope
            .node("VariableV2")
            .attr("shape", Shape.scalar())
            .attr("dtype", DType.INT64)
            .attr("shared_name", NAME)
            .add()
            .output();
    initialized.add(
        scope.node("IsVariableInitialized").input(v).attr("dtype", DType.INT64).add().output());
    values.add(scope.node("Identity").input(v).add().output());
  }

  private void addResource(Scope scope) {
    Output v =
        scope
            .node("VarHandleOp")
            .attr("shape", Shape.scalar())
            .attr("dtype", DType.INT64)
            .attr("shared_name", NAME)
            .add()
            .output();
    initialized.add(scope.node("VarIsInitializedOp").input(v).add().output());
    values.add(scope.node("ReadVariableOp").input(v).attr("dtype", DType.INT64).add().output());
  }

  /** The step now; empty if no task has one yet. */
  OptionalLong read() {
    List<Tensor> there = session.run(Map.of(), initialized, List.of(), options);
    OptionalLong step = OptionalLong.empty();
    for (int i = 0; i < there.size() && step.isEmpty(); i++) {
      if (there.get(i).booleanValue()) {
        List<Tensor> value = session.run(Map.of(), List.of(values.get(i)), List.of(), options);
        step = OptionalLong.of(value.getFirst().longValue());
        value.forEach(Tensor::close);
      }
    }
    there.forEach(Tensor::close);
    return step;
  }

  @Override
  public void close() {
    session.close();
  }
}
