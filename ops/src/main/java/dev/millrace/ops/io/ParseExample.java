package dev.millrace.ops.io;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.proto.Example;
import dev.millrace.proto.Feature;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * Turns serialized {@link Example}s into tensors, a batch of them or a single one. A dense feature
 * is in every example, or has a default; a sparse one has as many values as the example says.
 */
final class ParseExample {
  private static final Op BATCH =
      Op.define("ParseExample")
          .attr("Nsparse: int >= 0")
          .attr("Ndense: int >= 0")
          .attr("sparse_types: list({float, int64, string}) >= 0")
          .attr("Tdense: list({float, int64, string}) >= 0")
          .attr("dense_shapes: list(shape) >= 0")
          .input("serialized: string")
          .input("names: string")
          .input("sparse_keys: Nsparse * string")
          .input("dense_keys: Ndense * string")
          .input("dense_defaults: Tdense")
          .output("sparse_indices: Nsparse * int64")
          .output("sparse_values: sparse_types")
          .output("sparse_shapes: Nsparse * int64")
          .output("dense_values: Tdense")
          .shape(c -> shapes(c, Shape.of(c.inputOfRank(0, 1).dim(0))))
          .kernelPerNode(ParseExample::batchKernel)
          .noGradient("bytes are not differentiable")
          .build();

  private static final Op SINGLE =
      Op.define("ParseSingleExample")
          .attr("num_sparse: int >= 0")
          .attr("sparse_keys: list(string) >= 0")
          .attr("dense_keys: list(string) >= 0")
          .attr("sparse_types: list({float, int64, string}) >= 0")
          .attr("Tdense: list({float, int64, string}) >= 0")
          .attr("dense_shapes: list(shape) >= 0")
          .input("serialized: string")
          .input("dense_defaults: Tdense")
          .output("sparse_indices: num_sparse * int64")
          .output("sparse_values: sparse_types")
          .output("sparse_shapes: num_sparse * int64")
          .output("dense_values: Tdense")
          .shape(
              c -> {
                c.inputOfRank(0, 0);
                return shapes(c, Shape.scalar());
              })
          .kernelPerNode(ParseExample::singleKernel)
          .noGradient("bytes are not differentiable")
          .build();

  /** A batch or a single one, with features of any length beside each other. */
  private static final Op V2 =
      Op.define("ParseExampleV2")
          .attr("Tdense: list({float, int64, string}) >= 0")
          .attr("num_sparse: int >= 0")
          .attr("sparse_types: list({float, int64, string}) >= 0")
          .attr("ragged_value_types: list({float, int64, string}) >= 0")
          .attr("ragged_split_types: list({int32, int64}) >= 0")
          .attr("dense_shapes: list(shape) >= 0")
          .input("serialized: string")
          .input("names: string")
          .input("sparse_keys: string")
          .input("dense_keys: string")
          .input("ragged_keys: string")
          .input("dense_defaults: Tdense")
          .output("sparse_indices: num_sparse * int64")
          .output("sparse_values: sparse_types")
          .output("sparse_shapes: num_sparse * int64")
          .output("dense_values: Tdense")
          .output("ragged_values: ragged_value_types")
          .output("ragged_row_splits: ragged_split_types")
          .shape(ParseExample::shapesOfAny)
          .kernelPerNode(ParseExample::anyKernel)
          .noGradient("bytes are not differentiable")
          .build();

  static final List<Op> ALL = List.of(BATCH, SINGLE, V2);

  private ParseExample() {}

  private static List<Shape> shapes(ShapeContext c, Shape batch) {
    List<Shape> shapes = new ArrayList<>();
    addSparse(shapes, c.node().typesAttr("sparse_types").size(), batch, 1);
    for (Shape dense : c.node().shapesAttr("dense_shapes")) {
      // How long the longest is shows only when they are there.
      shapes.add(batch.hasRank() ? batch.concat(dense) : Shape.unknown());
    }
    return shapes;
  }

  /**
   * Adds the shapes of indices, values and shapes of features that have dimensions of their own.
   */
  static void addSparse(List<Shape> shapes, int n, Shape batch, int dims) {
    long rank = batch.hasRank() ? batch.rank() + dims : Shape.UNKNOWN;
    shapes.addAll(Collections.nCopies(n, Shape.of(Shape.UNKNOWN, rank)));
    shapes.addAll(Collections.nCopies(n, Shape.of(Shape.UNKNOWN)));
    shapes.addAll(Collections.nCopies(n, Shape.of(rank)));
  }

  private static List<Shape> shapesOfAny(ShapeContext c) {
    int ragged = c.node().typesAttr("ragged_value_types").size();
    Shape batch = c.input(0);
    requireExamples(batch);
    List<Shape> shapes = shapes(c, batch);
    shapes.addAll(Collections.nCopies(ragged, Shape.of(Shape.UNKNOWN)));
    shapes.addAll(Collections.nCopies(ragged, Shape.of(splits(batch))));
    return shapes;
  }

  /** How many places tell where the values of each example of a batch begin and end. */
  static long splits(Shape batch) {
    if (!batch.hasRank() || (batch.rank() == 1 && batch.dim(0) < 0)) {
      return Shape.UNKNOWN;
    }
    return batch.isScalar() ? 0 : batch.dim(0) + 1;
  }

  static void requireExamples(Shape serialized) {
    if (serialized.rank() > 1) {
      throw MillraceException.invalid(
          "Expected serialized to be a scalar or vector, got shape: %s", serialized);
    }
  }

  private static Kernel anyKernel(Node node) {
    List<DType> sparse = node.typesAttr("sparse_types");
    List<DType> ragged = node.typesAttr("ragged_value_types");
    List<Shape> dense = node.shapesAttr("dense_shapes");
    checkCounts(node, "num_sparse", node.intAttr("num_sparse"), sparse.size());
    checkCounts(node, "Tdense", node.typesAttr("Tdense").size(), dense.size());
    int splitTypes = node.typesAttr("ragged_split_types").size();
    checkCounts(node, "ragged_split_types", splitTypes, ragged.size());
    return c -> {
      Tensor serialized = c.input(0);
      requireExamples(serialized.shape());
      checkNames(c.input(1), serialized);
      String[] sparseKeys = keys(c, 2, sparse.size());
      String[] denseKeys = keys(c, 3, dense.size());
      String[] raggedKeys = keys(c, 4, ragged.size());
      boolean batched = serialized.shape().rank() == 1;
      FeatureColumns columns = new FeatureColumns(c, parse(serialized), c.input(1), batched);
      for (int i = 0; i < sparse.size(); i++) {
        columns.sparse(i, sparse.size(), sparseKeys[i], sparse.get(i));
      }
      int out = 3 * sparse.size();
      for (int i = 0; i < dense.size(); i++) {
        columns.dense(out++, denseKeys[i], dense.get(i), c.input(5 + i));
      }
      for (int i = 0; i < ragged.size(); i++) {
        columns.ragged(out + i, out + ragged.size() + i, raggedKeys[i], ragged.get(i));
      }
    };
  }

  /** The keys in input {@code i}, of which there must be {@code n}. */
  static String[] keys(KernelContext c, int i, int n) {
    Tensor keys = c.input(i);
    if (keys.shape().rank() != 1 || keys.elements() != n) {
      throw MillraceException.invalid(
          "Expected %s to be a vector of %d keys, got shape: %s",
          c.node().op().inputs().get(i).name(), n, keys.shape());
    }
    return keys.toStrings();
  }

  static void checkNames(Tensor names, Tensor serialized) {
    if (names.elements() != 0 && names.elements() != serialized.elements()) {
      throw MillraceException.invalid(
          "Expected len(names) == len(serialized), but got %d vs. %d",
          names.elements(), serialized.elements());
    }
  }

  private static Kernel batchKernel(Node node) {
    List<DType> sparse = node.typesAttr("sparse_types");
    List<Shape> dense = node.shapesAttr("dense_shapes");
    checkCounts(node, "Nsparse", node.intAttr("Nsparse"), sparse.size());
    checkCounts(node, "Ndense", node.intAttr("Ndense"), dense.size());
    return c -> {
      Tensor serialized = c.input(0);
      if (serialized.shape().rank() != 1) {
        throw MillraceException.invalid(
            "Expected serialized to be a vector, got shape: %s", serialized.shape());
      }
      Tensor names = c.input(1);
      checkNames(names, serialized);
      int key = 2;
      FeatureColumns columns = new FeatureColumns(c, parse(serialized), names, true);
      for (int i = 0; i < sparse.size(); i++) {
        columns.sparse(i, sparse.size(), c.input(key++).stringValue(), sparse.get(i));
      }
      for (int i = 0; i < dense.size(); i++, key++) {
        Tensor absent = c.input(key + dense.size());
        columns.dense(3 * sparse.size() + i, c.input(key).stringValue(), dense.get(i), absent);
      }
    };
  }

  private static Kernel singleKernel(Node node) {
    List<DType> sparse = node.typesAttr("sparse_types");
    List<Shape> dense = node.shapesAttr("dense_shapes");
    List<String> sparseKeys = node.stringsAttr("sparse_keys");
    List<String> denseKeys = node.stringsAttr("dense_keys");
    checkCounts(node, "num_sparse", node.intAttr("num_sparse"), sparse.size());
    checkCounts(node, "sparse_keys", sparseKeys.size(), sparse.size());
    checkCounts(node, "dense_keys", denseKeys.size(), dense.size());
    return c -> {
      Tensor serialized = c.input(0);
      if (!serialized.shape().isScalar()) {
        throw MillraceException.invalid(
            "Expected serialized to be a scalar, got shape: %s", serialized.shape());
      }
      FeatureColumns columns = new FeatureColumns(c, parse(serialized), null, false);
      for (int i = 0; i < sparse.size(); i++) {
        columns.sparse(i, sparse.size(), sparseKeys.get(i), sparse.get(i));
      }
      for (int i = 0; i < dense.size(); i++) {
        columns.dense(3 * sparse.size() + i, denseKeys.get(i), dense.get(i), c.input(1 + i));
      }
    };
  }

  static void checkCounts(Node node, String what, int count, int wanted) {
    if (count != wanted) {
      throw MillraceException.invalid(
          "%s '%s': %s is %d, but there are types or shapes for %d features.",
          node.op().name(), node.name(), what, count, wanted);
    }
  }

  private static List<Map<String, Feature>> parse(Tensor serialized) {
    List<Map<String, Feature>> examples = new ArrayList<>();
    for (long i = 0; i < serialized.elements(); i++) {
      try {
        Example example = Example.parseFrom(serialized.bytesAt(i));
        examples.add(example.getFeatures().getFeatureMap());
      } catch (InvalidProtocolBufferException e) {
        throw MillraceException.invalid(
            "Could not parse example input, number %d of %d, %d bytes long: %s",
            i, serialized.elements(), serialized.bytesAt(i).length, e.getMessage());
      }
    }
    return examples;
  }
}
