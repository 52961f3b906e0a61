package dev.millrace.ops;

import dev.millrace.graph.Graph;
import dev.millrace.graph.op.Fusion;
import dev.millrace.graph.op.Op;
import dev.millrace.graph.op.OpRegistry;
import dev.millrace.ops.accumulator.AccumulatorOps;
import dev.millrace.ops.array.ArrayOps;
import dev.millrace.ops.collective.CollectiveOps;
import dev.millrace.ops.dataset.DatasetOps;
import dev.millrace.ops.flow.FlowOps;
import dev.millrace.ops.io.IoOps;
import dev.millrace.ops.list.ListOps;
import dev.millrace.ops.math.MathOps;
import dev.millrace.ops.nn.NnOps;
import dev.millrace.ops.queue.QueueOps;
import dev.millrace.ops.random.RandomOps;
import dev.millrace.ops.sparse.SparseOps;
import dev.millrace.ops.state.StateOps;
import dev.millrace.ops.summary.SummaryOps;
import dev.millrace.ops.train.TrainOps;
import dev.millrace.ops.transfer.TransferOps;
import dev.millrace.tensor.VectorModule;
import java.util.List;
import java.util.stream.Stream;

/** The registry of all ops that come with Millrace. */
public final class StandardOps {
  static {
    VectorModule.require();
  }

  /** Every family's list. */
  public static final List<Op> ALL =
      Stream.of(
              AccumulatorOps.ALL,
              ArrayOps.ALL,
              CollectiveOps.ALL,
              DatasetOps.ALL,
              FlowOps.ALL,
              IoOps.ALL,
              ListOps.ALL,
              MathOps.ALL,
              NnOps.ALL,
              QueueOps.ALL,
              RandomOps.ALL,
              SparseOps.ALL,
              StateOps.ALL,
              SummaryOps.ALL,
              TrainOps.ALL,
              TransferOps.ALL)
          .flatMap(List::stream)
          .toList();

  /** Groups of ops that are run as one. */
  private static final List<Fusion> FUSIONS =
      Stream.of(IoOps.FUSIONS, NnOps.FUSIONS, TrainOps.FUSIONS).flatMap(List::stream).toList();

  private static final OpRegistry REGISTRY = OpRegistry.of(ALL).withFusions(FUSIONS);

  private StandardOps() {}

  /** All ops there are, TensorFlow's names and meanings. */
  public static OpRegistry registry() {
    return REGISTRY;
  }

  /** An empty graph of standard ops. */
  public static Graph newGraph() {
    return new Graph(REGISTRY);
  }
}
