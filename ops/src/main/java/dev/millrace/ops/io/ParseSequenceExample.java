package dev.millrace.ops.io;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.proto.Feature;
import dev.millrace.proto.FeatureList;
import dev.millrace.proto.SequenceExample;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * Turns serialized {@link SequenceExample}s into tensors, a batch of them or a single one: the
 * features of their context like those of an example, and lists of features with a dimension for
 * the steps of time.
 */
final class ParseSequenceExample {
  private static final String TYPES = ": list({float, int64, string}) >= 0 = []";

  private static final Op BATCH =
      attrs(
              Op.define("ParseSequenceExample")
                  .attr("feature_list_dense_missing_assumed_empty: list(string) >= 0")
                  .attr("context_sparse_keys: list(string) >= 0")
                  .attr("context_dense_keys: list(string) >= 0")
                  .attr("feature_list_sparse_keys: list(string) >= 0")
                  .attr("feature_list_dense_keys: list(string) >= 0"))
          .input("serialized: string")
          .input("debug_name: string")
          .input("context_dense_defaults: Tcontext_dense")
          .output("context_sparse_indices: Ncontext_sparse * int64")
          .output("context_sparse_values: context_sparse_types")
          .output("context_sparse_shapes: Ncontext_sparse * int64")
          .output("context_dense_values: Tcontext_dense")
          .output("feature_list_sparse_indices: Nfeature_list_sparse * int64")
          .output("feature_list_sparse_values: feature_list_sparse_types")
          .output("feature_list_sparse_shapes: Nfeature_list_sparse * int64")
          .output("feature_list_dense_values: feature_list_dense_types")
          .output("feature_list_dense_lengths: Nfeature_list_dense * int64")
          .shape(c -> shapes(c, c.inputOfRank(0, 1), true))
          .kernelPerNode(ParseSequenceExample::batchKernel)
          .noGradient("bytes are not differentiable")
          .build();

  private static final Op SINGLE =
      attrs(Op.define("ParseSingleSequenceExample"))
          .input("serialized: string")
          .input("feature_list_dense_missing_assumed_empty: string")
          .input("context_sparse_keys: Ncontext_sparse * string")
          .input("context_dense_keys: Ncontext_dense * string")
          .input("feature_list_sparse_keys: Nfeature_list_sparse * string")
          .input("feature_list_dense_keys: Nfeature_list_dense * string")
          .input("context_dense_defaults: Tcontext_dense")
          .input("debug_name: string")
          .output("context_sparse_indices: Ncontext_sparse * int64")
          .output("context_sparse_values: context_sparse_types")
          .output("context_sparse_shapes: Ncontext_sparse * int64")
          .output("context_dense_values: Tcontext_dense")
          .output("feature_list_sparse_indices: Nfeature_list_sparse * int64")
          .output("feature_list_sparse_values: feature_list_sparse_types")
          .output("feature_list_sparse_shapes: Nfeature_list_sparse * int64")
          .output("feature_list_dense_values: feature_list_dense_types")
          .shape(c -> shapes(c, c.inputOfRank(0, 0), false))
          .kernelPerNode(ParseSequenceExample::singleKernel)
          .noGradient("bytes are not differentiable")
          .build();

  private static final Op V2 =
      Op.define("ParseSequenceExampleV2")
          .attr("Ncontext_sparse: int >= 0 = 0")
          .attr("Tcontext_dense" + TYPES)
          .attr("context_sparse_types" + TYPES)
          .attr("context_ragged_value_types" + TYPES)
          .attr("context_ragged_split_types: list({int32, int64}) >= 0 = []")
          .attr("context_dense_shapes: list(shape) >= 0 = []")
          .attr("Nfeature_list_sparse: int >= 0 = 0")
          .attr("Nfeature_list_dense: int >= 0 = 0")
          .attr("feature_list_dense_types" + TYPES)
          .attr("feature_list_sparse_types" + TYPES)
          .attr("feature_list_ragged_value_types" + TYPES)
          .attr("feature_list_ragged_split_types: list({int32, int64}) >= 0 = []")
          .attr("feature_list_dense_shapes: list(shape) >= 0 = []")
          .input("serialized: string")
          .input("debug_name: string")
          .input("context_sparse_keys: string")
          .input("context_dense_keys: string")
          .input("context_ragged_keys: string")
          .input("feature_list_sparse_keys: string")
          .input("feature_list_dense_keys: string")
          .input("feature_list_ragged_keys: string")
          .input("feature_list_dense_missing_assumed_empty: bool")
          .input("context_dense_defaults: Tcontext_dense")
          .output("context_sparse_indices: Ncontext_sparse * int64")
          .output("context_sparse_values: context_sparse_types")
          .output("context_sparse_shapes: Ncontext_sparse * int64")
          .output("context_dense_values: Tcontext_dense")
          .output("context_ragged_values: context_ragged_value_types")
          .output("context_ragged_row_splits: context_ragged_split_types")
          .output("feature_list_sparse_indices: Nfeature_list_sparse * int64")
          .output("feature_list_sparse_values: feature_list_sparse_types")
          .output("feature_list_sparse_shapes: Nfeature_list_sparse * int64")
          .output("feature_list_dense_values: feature_list_dense_types")
          .output("feature_list_dense_lengths: Nfeature_list_dense * int64")
          .output("feature_list_ragged_values: feature_list_ragged_value_types")
          .output("feature_list_ragged_outer_splits: feature_list_ragged_split_types")
          .output("feature_list_ragged_inner_splits: feature_list_ragged_split_types")
          .shape(ParseSequenceExample::shapesOfAny)
          .kernelPerNode(ParseSequenceExample::anyKernel)
          .noGradient("bytes are not differentiable")
          .build();

  static final List<Op> ALL = List.of(BATCH, SINGLE, V2);

  private ParseSequenceExample() {}

  private static Op.Builder attrs(Op.Builder op) {
    return op.attr("Ncontext_sparse: int >= 0 = 0")
        .attr("Ncontext_dense: int >= 0 = 0")
        .attr("Nfeature_list_sparse: int >= 0 = 0")
        .attr("Nfeature_list_dense: int >= 0 = 0")
        .attr("context_sparse_types" + TYPES)
        .attr("Tcontext_dense" + TYPES)
        .attr("feature_list_dense_types" + TYPES)
        .attr("context_dense_shapes: list(shape) >= 0 = []")
        .attr("feature_list_sparse_types" + TYPES)
        .attr("feature_list_dense_shapes: list(shape) >= 0 = []");
  }

  /** What a node says of the features: their types and shapes, and none of their keys. */
  private record Features(
      List<DType> contextSparse,
      List<Shape> contextDense,
      List<DType> contextRagged,
      List<DType> listSparse,
      List<DType> listDense,
      List<Shape> listDenseShapes,
      List<DType> listRagged) {
    static Features of(Node node) {
      boolean ragged = node.hasAttr("context_ragged_value_types");
      return new Features(
          node.typesAttr("context_sparse_types"),
          node.shapesAttr("context_dense_shapes"),
          ragged ? node.typesAttr("context_ragged_value_types") : List.of(),
          node.typesAttr("feature_list_sparse_types"),
          node.typesAttr("feature_list_dense_types"),
          node.shapesAttr("feature_list_dense_shapes"),
          ragged ? node.typesAttr("feature_list_ragged_value_types") : List.of());
    }

    /** The same, checked to be as many as the node says elsewhere. */
    static Features checked(Node node) {
      Features f = of(node);
      ParseExample.checkCounts(
          node, "Ncontext_sparse", node.intAttr("Ncontext_sparse"), f.contextSparse.size());
      ParseExample.checkCounts(
          node, "Tcontext_dense", node.typesAttr("Tcontext_dense").size(), f.contextDense.size());
      ParseExample.checkCounts(
          node, "Nfeature_list_sparse", node.intAttr("Nfeature_list_sparse"), f.listSparse.size());
      ParseExample.checkCounts(
          node,
          "Nfeature_list_dense",
          node.intAttr("Nfeature_list_dense"),
          f.listDenseShapes.size());
      ParseExample.checkCounts(
          node, "feature_list_dense_types", f.listDense.size(), f.listDenseShapes.size());
      return f;
    }
  }

  /** The keys of the features, in the order of {@link Features}. */
  private record Keys(
      String[] contextSparse,
      String[] contextDense,
      String[] contextRagged,
      String[] listSparse,
      String[] listDense,
      String[] listRagged,
      boolean[] mayBeMissing) {}

  private static List<Shape> shapes(ShapeContext c, Shape batch, boolean lengths) {
    Features f = Features.of(c.node());
    List<Shape> shapes = new ArrayList<>();
    ParseExample.addSparse(shapes, f.contextSparse.size(), batch, 1);
    f.contextDense.forEach(s -> shapes.add(batch.hasRank() ? batch.concat(s) : batch));
    shapes.addAll(Collections.nCopies(f.contextRagged.size(), Shape.of(Shape.UNKNOWN)));
    Shape splits = Shape.of(ParseExample.splits(batch));
    shapes.addAll(Collections.nCopies(f.contextRagged.size(), splits));
    ParseExample.addSparse(shapes, f.listSparse.size(), batch, 2);
    Shape steps = Shape.of(Shape.UNKNOWN);
    f.listDenseShapes.forEach(
        s -> shapes.add(batch.hasRank() ? batch.concat(steps).concat(s) : batch));
    if (lengths) {
      shapes.addAll(Collections.nCopies(f.listDense.size(), batch));
    }
    shapes.addAll(Collections.nCopies(f.listRagged.size(), Shape.of(Shape.UNKNOWN)));
    shapes.addAll(Collections.nCopies(f.listRagged.size(), splits));
    shapes.addAll(Collections.nCopies(f.listRagged.size(), Shape.of(Shape.UNKNOWN)));
    return shapes;
  }

  private static List<Shape> shapesOfAny(ShapeContext c) {
    Shape batch = c.input(0);
    ParseExample.requireExamples(batch);
    return shapes(c, batch, true);
  }

  private static Kernel batchKernel(Node node) {
    Features f = Features.checked(node);
    List<String> mayBeMissing = node.stringsAttr("feature_list_dense_missing_assumed_empty");
    String[] listDense = strings(node, "feature_list_dense_keys");
    Keys keys =
        new Keys(
            strings(node, "context_sparse_keys"),
            strings(node, "context_dense_keys"),
            new String[0],
            strings(node, "feature_list_sparse_keys"),
            listDense,
            new String[0],
            among(listDense, mayBeMissing));
    int wanted = f.contextSparse.size() + f.contextDense.size();
    ParseExample.checkCounts(
        node, "context keys", keys.contextSparse.length + keys.contextDense.length, wanted);
    ParseExample.checkCounts(
        node, "feature_list_sparse_keys", keys.listSparse.length, f.listSparse.size());
    ParseExample.checkCounts(node, "feature_list_dense_keys", listDense.length, f.listDense.size());
    return c -> {
      if (c.input(0).shape().rank() != 1) {
        throw MillraceException.invalid(
            "Expected serialized to be a vector, got shape: %s", c.input(0).shape());
      }
      ParseExample.checkNames(c.input(1), c.input(0));
      parse(c, f, keys, c.input(1), 2, true);
    };
  }

  private static String[] strings(Node node, String attr) {
    return node.stringsAttr(attr).toArray(String[]::new);
  }

  private static boolean[] among(String[] keys, List<String> some) {
    boolean[] is = new boolean[keys.length];
    for (int i = 0; i < is.length; i++) {
      is[i] = some.contains(keys[i]);
    }
    return is;
  }

  private static Kernel singleKernel(Node node) {
    Features f = Features.checked(node);
    int contextDense = f.contextDense.size();
    return c -> {
      if (!c.input(0).shape().isScalar()) {
        throw MillraceException.invalid(
            "Expected serialized to be a scalar, got shape: %s", c.input(0).shape());
      }
      int at = 2;
      String[] contextSparse = scalars(c, at, f.contextSparse.size());
      at += contextSparse.length;
      String[] dense = scalars(c, at, contextDense);
      at += contextDense;
      String[] listSparse = scalars(c, at, f.listSparse.size());
      at += listSparse.length;
      String[] listDense = scalars(c, at, f.listDense.size());
      at += listDense.length;
      List<String> mayBeMissing = Arrays.asList(c.input(1).toStrings());
      Keys keys =
          new Keys(
              contextSparse,
              dense,
              new String[0],
              listSparse,
              listDense,
              new String[0],
              among(listDense, mayBeMissing));
      parse(c, f, keys, c.input(at + contextDense), at, false);
    };
  }

  private static String[] scalars(KernelContext c, int first, int n) {
    String[] keys = new String[n];
    for (int i = 0; i < n; i++) {
      keys[i] = c.input(first + i).stringValue();
    }
    return keys;
  }

  private static Kernel anyKernel(Node node) {
    Features f = Features.checked(node);
    return c -> {
      ParseExample.requireExamples(c.input(0).shape());
      ParseExample.checkNames(c.input(1), c.input(0));
      String[] listDense = ParseExample.keys(c, 6, f.listDense.size());
      Tensor missing = c.input(8);
      if (missing.shape().rank() != 1 || missing.elements() != listDense.length) {
        throw MillraceException.invalid(
            "Expected feature_list_dense_missing_assumed_empty to have %d elements, got shape: %s",
            listDense.length, missing.shape());
      }
      boolean[] mayBeMissing = new boolean[listDense.length];
      for (int i = 0; i < mayBeMissing.length; i++) {
        mayBeMissing[i] = missing.booleanAt(i);
      }
      Keys keys =
          new Keys(
              ParseExample.keys(c, 2, f.contextSparse.size()),
              ParseExample.keys(c, 3, f.contextDense.size()),
              ParseExample.keys(c, 4, f.contextRagged.size()),
              ParseExample.keys(c, 5, f.listSparse.size()),
              listDense,
              ParseExample.keys(c, 7, f.listRagged.size()),
              mayBeMissing);
      parse(c, f, keys, c.input(1), 9, true);
    };
  }

  /**
   * Fills all outputs.
   *
   * @param firstDefault the input that the defaults of dense features of the context begin with
   * @param lengths whether outputs tell how many steps the dense lists have
   */
  private static void parse(
      KernelContext c, Features f, Keys keys, Tensor names, int firstDefault, boolean lengths) {
    Tensor serialized = c.input(0);
    boolean batched = serialized.shape().rank() == 1;
    List<Map<String, Feature>> contexts = new ArrayList<>();
    List<Map<String, FeatureList>> lists = new ArrayList<>();
    for (int i = 0; i < serialized.elements(); i++) {
      try {
        SequenceExample example = SequenceExample.parseFrom(serialized.bytesAt(i));
        contexts.add(example.getContext().getFeatureMap());
        lists.add(example.getFeatureLists().getFeatureListMap());
      } catch (InvalidProtocolBufferException e) {
        throw MillraceException.invalid(
            "Name: %s, Could not parse sequence example input, number %d, %d bytes long: %s",
            FeatureColumns.name(names, i), i, serialized.bytesAt(i).length, e.getMessage());
      }
    }
    int out = 0;
    FeatureColumns context = new FeatureColumns(c, contexts, names, batched);
    for (int i = 0; i < f.contextSparse.size(); i++) {
      context.sparse(i, f.contextSparse.size(), keys.contextSparse[i], f.contextSparse.get(i));
    }
    out += 3 * f.contextSparse.size();
    for (int i = 0; i < f.contextDense.size(); i++) {
      Tensor absent = c.input(firstDefault + i);
      context.dense(out++, keys.contextDense[i], f.contextDense.get(i), absent);
    }
    int ragged = f.contextRagged.size();
    for (int i = 0; i < ragged; i++) {
      context.ragged(out + i, out + ragged + i, keys.contextRagged[i], f.contextRagged.get(i));
    }
    out += 2 * ragged;
    FeatureSteps steps = new FeatureSteps(c, lists, names, batched);
    for (int i = 0; i < f.listSparse.size(); i++) {
      steps.sparse(out + i, f.listSparse.size(), keys.listSparse[i], f.listSparse.get(i));
    }
    out += 3 * f.listSparse.size();
    int dense = f.listDense.size();
    for (int i = 0; i < dense; i++) {
      steps.dense(
          out + i,
          lengths ? out + dense + i : -1,
          keys.listDense[i],
          f.listDense.get(i),
          f.listDenseShapes.get(i),
          keys.mayBeMissing[i]);
    }
    out += (lengths ? 2 : 1) * dense;
    for (int i = 0; i < f.listRagged.size(); i++) {
      steps.ragged(out + i, f.listRagged.size(), keys.listRagged[i], f.listRagged.get(i));
    }
  }
}
