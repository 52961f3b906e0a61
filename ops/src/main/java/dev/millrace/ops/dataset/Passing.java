package dev.millrace.ops.dataset;

import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Shape;
import java.util.List;

/**
 * Ops that hand on a dataset as it is: they say how TensorFlow is to run it, which is Millrace's
 * own affair here. And the question how many elements a dataset has.
 */
final class Passing {
  private static final Op OPTIONS =
      passing("OptionsDataset")
          .attr("serialized_options: string")
          .attr("metadata: string = ''")
          .build();

  private static final Op MODEL =
      passing("ModelDataset")
          .attr("algorithm: int = 0")
          .attr("cpu_budget: int = 0")
          .attr("ram_budget: int = 0")
          .build();

  private static final Op OPTIMIZE =
      passing("OptimizeDataset")
          .attr("optimization_configs: list(string) = []")
          .input("optimizations: string")
          .build();

  private static final Op OPTIMIZE_V2 =
      passing("OptimizeDatasetV2")
          .attr("optimization_configs: list(string) = []")
          .input("optimizations_enabled: string")
          .input("optimizations_disabled: string")
          .input("optimizations_default: string")
          .build();

  private static final Op FINALIZE =
      passing("FinalizeDataset").attr("has_captured_ref: bool = false").build();

  private static final Op INTRA_OP_PARALLELISM =
      passing("MaxIntraOpParallelismDataset").input("max_intra_op_parallelism: int64").build();

  private static final Op THREAD_POOL =
      passing("PrivateThreadPoolDataset").input("num_threads: int64").build();

  private static final Op CARDINALITY =
      Op.define("DatasetCardinality")
          .attr("cardinality_options: string = ''")
          .input("input_dataset: variant")
          .output("cardinality: int64")
          .shape(Shapes.scalar())
          .kernel(
              c -> c.allocate(0, Shape.scalar()).setLong(0, DatasetValue.at(c, 0).cardinality()))
          .noGradient("it is a count")
          .build();

  static final List<Op> ALL =
      List.of(
          OPTIONS,
          MODEL,
          OPTIMIZE,
          OPTIMIZE_V2,
          FINALIZE,
          INTRA_OP_PARALLELISM,
          THREAD_POOL,
          CARDINALITY);

  private Passing() {}

  private static Op.Builder passing(String name) {
    return Op.define(name)
        .attr("output_types: list(type) >= 1")
        .attr("output_shapes: list(shape) >= 1")
        .input("input_dataset: variant")
        .output("handle: variant")
        .shape(Shapes.scalar())
        .kernel(Passing::pass)
        .noGradient("it hands on a dataset");
  }

  private static void pass(KernelContext c) {
    DatasetValue.at(c, 0);
    c.forward(0, 0);
  }
}
