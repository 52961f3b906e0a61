package dev.millrace.ops;

import dev.millrace.graph.Fusion;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Op;
import dev.millrace.graph.OpFamily;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.library.OpLibraries;
import dev.millrace.ops.accumulator.AccumulatorOps;
import dev.millrace.ops.array.ArrayOps;
import dev.millrace.ops.collective.CollectiveOps;
import dev.millrace.ops.dataset.DatasetOps;
import dev.millrace.ops.flow.FlowOps;
import dev.millrace.ops.fourier.FourierOps;
import dev.millrace.ops.io.IoOps;
import dev.millrace.ops.list.ListOps;
import dev.millrace.ops.lookup.LookupOps;
import dev.millrace.ops.math.MathOps;
import dev.millrace.ops.matrix.MatrixOps;
import dev.millrace.ops.nn.NnOps;
import dev.millrace.ops.queue.QueueOps;
import dev.millrace.ops.random.RandomOps;
import dev.millrace.ops.random.StatelessRandomV2;
import dev.millrace.ops.scatter.ScatterOps;
import dev.millrace.ops.space.SpaceOps;
import dev.millrace.ops.sparse.SparseOps;
import dev.millrace.ops.state.StateOps;
import dev.millrace.ops.summary.SummaryOps;
import dev.millrace.ops.text.TextOps;
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

  /** The families that load on demand, when a graph has one of their ops. */
  static final List<OpFamily> ON_DEMAND =
      List.of(
          OpFamily.of(
              """
              AnonymousHashTable AnonymousMutableDenseHashTable AnonymousMutableHashTable
              AnonymousMutableHashTableOfTensors HashTable HashTableV2 InitializeTable
              InitializeTableFromTextFile InitializeTableFromTextFileV2 InitializeTableV2
              LookupTableExport LookupTableExportV2 LookupTableFind LookupTableFindV2
              LookupTableImport LookupTableImportV2 LookupTableInsert LookupTableInsertV2
              LookupTableRemoveV2 LookupTableSize LookupTableSizeV2
              MutableDenseHashTableV2 MutableHashTable MutableHashTableOfTensors
              MutableHashTableOfTensorsV2 MutableHashTableV2
              """,
              () -> LookupOps.ALL),
          OpFamily.of(
              """
              Diag DiagPart MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2
              MatrixDiagV3 MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3
              """,
              () -> MatrixOps.ALL),
          OpFamily.of(
              """
              FFT FFT2D FFT3D IFFT IFFT2D IFFT3D IRFFT IRFFT2D IRFFT3D RFFT RFFT2D RFFT3D
              """,
              () -> FourierOps.ALL),
          OpFamily.of(
              """
              ResourceGatherNd ResourceScatterNdAdd ResourceScatterNdMax ResourceScatterNdMin
              ResourceScatterNdSub ResourceScatterNdUpdate ScatterNdAdd ScatterNdMax ScatterNdMin
              ScatterNdNonAliasingAdd ScatterNdSub ScatterNdUpdate TensorScatterAdd TensorScatterMax
              TensorScatterMin TensorScatterSub TensorScatterUpdate
              """,
              () -> ScatterOps.ALL),
          OpFamily.of(
              """
              BatchToSpace BatchToSpaceND DepthToSpace SpaceToBatch SpaceToBatchND SpaceToDepth
              """,
              () -> SpaceOps.ALL),
          OpFamily.of(
              """
              StatelessMultinomial StatelessRandomGetAlg StatelessRandomGetKeyCounter
              StatelessRandomGetKeyCounterAlg StatelessRandomNormalV2 StatelessRandomUniformFullInt
              StatelessRandomUniformFullIntV2 StatelessRandomUniformInt StatelessRandomUniformIntV2
              StatelessRandomUniformV2 StatelessTruncatedNormalV2
              """,
              () -> StatelessRandomV2.ALL),
          OpFamily.of(
              """
              AsString DecodeBase64 EncodeBase64 ReduceJoin StringFormat StringLength StringLower
              StringSplit StringSplitV2 StringStrip StringToHashBucket StringToHashBucketFast
              StringToHashBucketStrong StringUpper Substr UnicodeDecode UnicodeDecodeWithOffsets
              UnicodeEncode UnicodeTranscode UnsortedSegmentJoin
              """,
              () -> TextOps.ALL));

  private static final OpRegistry BUILT_IN =
      OpRegistry.of(COMMON).withFamilies(ON_DEMAND).withFusions(FUSIONS);

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
