package dev.millrace.ops.io;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.op.Kernel;
import dev.millrace.graph.op.Op;
import dev.millrace.graph.op.ShapeContext;
import dev.millrace.proto.Example;
import dev.millrace.proto.Feature;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
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

  static final List<Op> ALL = List.of(BATCH, SINGLE);

  private ParseExample() {}

  private static List<Shape> shapes(ShapeContext c, Shape batch) {
    int sparse = c.node().typesAttr("sparse_types").size();
    List<Shape> shapes = new ArrayList<>();
    for (int i = 0; i < sparse; i++) {
      shapes.add(Shape.of(Shape.UNKNOWN, batch.rank() + 1));
    }
    for (int i = 0; i < sparse; i++) {
      shapes.add(Shape.of(Shape.UNKNOWN));
    }
    for (int i = 0; i < sparse; i++) {
      shapes.add(Shape.of(batch.rank() + 1));
    }
    for (Shape dense : c.node().shapesAttr("dense_shapes")) {
      // How long the longest is shows only when they are there.
      shapes.add(batch.concat(dense));
    }
    return shapes;
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
      if (names.elements() != 0 && names.elements() != serialized.elements()) {
        throw MillraceException.invalid(
            "Expected len(names) == len(serialized), but got %d vs. %d",
            names.elements(), serialized.elements());
      }
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

  private static void checkCounts(Node node, String what, int count, int wanted) {
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
