package dev.millrace.ops;

import dev.millrace.graph.Fusion;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Op;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.library.OpLibraries;
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
import java.util.AbstractList;
import java.util.List;
import java.util.stream.Stream;

/**
 * The registry of all ops that come with Millrace, and of those of {@link
 * dev.millrace.graph.library.OpLibrary} services beside it.
 *
 * <p>Threading: any thread.
 */
public final class StandardOps {
  /** The families that nearly every program uses. */
  private static final List<Op> COMMON =
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

  private static final OpRegistry BUILT_IN =
      OpRegistry.of(COMMON).withFamilies(OnDemand.FAMILIES).withFusions(FUSIONS);

  /**
   * Those and the libraries; null until asked for. A library that fails must fail each time with
   * its own message, so this is no static initializer. Guarded by the class.
   */
  private static OpRegistry registry;

  /** Every op of Millrace, ordered by name; reading the list loads the families on demand. */
  public static final List<Op> ALL =
      new AbstractList<>() {
        @Override
        public Op get(int i) {
          return Everything.OPS.get(i);
        }

        @Override
        public int size() {
          return Everything.OPS.size();
        }
      };

  private static final class Everything {
    static final List<Op> OPS = List.copyOf(BUILT_IN.all());
  }

  private StandardOps() {}

  /**
   * Millrace's ops, with TensorFlow's names and meanings, and those of all libraries on the class
   * path that Millrace itself was loaded from. The same registry on every call.
   */
  public static synchronized OpRegistry registry() {
    if (registry == null) {
      registry = registry(StandardOps.class.getClassLoader());
    }
    return registry;
  }

  /** Millrace's ops and those of all libraries that {@code loader} sees, looked up anew. */
  public static OpRegistry registry(ClassLoader loader) {
    return OpLibraries.addTo(BUILT_IN, loader);
  }

  /** An empty graph of standard ops. */
  public static Graph newGraph() {
    return new Graph(registry());
  }
}
