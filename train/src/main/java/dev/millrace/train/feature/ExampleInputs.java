package dev.millrace.train.feature;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Pack;
import dev.millrace.ops.array.Reshape;
import dev.millrace.ops.array.Slice;
import dev.millrace.ops.math.Cast;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.column.Column;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Columns parsed from tf.Examples in the graph, by TensorFlow's ParseExample. */
final class ExampleInputs {
  private ExampleInputs() {}

  static Map<String, Output> parse(Scope scope, Output serialized, List<Column> columns) {
    Scope s = scope.withSubScope("parse_example");
    List<Output> keys = new ArrayList<>();
    List<Output> defaults = new ArrayList<>();
    List<Object> shapes = new ArrayList<>();
    for (Column c : columns) {
      for (String field : c.fields()) {
        keys.add(Const.of(s, field));
        defaults.add(Const.of(s, missing(c)));
        shapes.add(c.list() ? Shape.of(-1) : Shape.scalar());
      }
    }
    Node node =
        s.node("ParseExample")
            .input(serialized)
            .input(Const.of(s, Tensor.vector(new String[0])))
            .inputs(List.of())
            .inputs(keys)
            .inputs(defaults)
            .attr("sparse_types", List.of())
            .attr("dense_shapes", shapes)
            .add();
    Map<String, Output> parsed = new LinkedHashMap<>();
    int i = 0;
    for (Column c : columns) {
      List<Output> fields = new ArrayList<>();
      for (int f = 0; f < c.fields().size(); f++) {
        fields.add(node.output(i++));
      }
      Output value =
          c.list()
              ? list(s, fields.getFirst(), c)
              : c.length() == 0 ? fields.getFirst() : Pack.of(s, fields, 1);
      parsed.put(c.name(), Cast.of(s, value, c.dtype()));
    }
    return parsed;
  }

  /** Fills up or cuts what is as long as the longest list of the batch. */
  private static Output list(Scope s, Output ragged, Column c) {
    Output none = Reshape.of(s, Const.of(s, missing(c)), Shape.of(1, 1));
    Output rows = s.node("Shape").input(ragged).add().output();
    Output batch = Slice.of(s, rows, new int[] {0}, new int[] {1});
    Output multiples = Concat.of(s, List.of(batch, Const.ints(s, c.length())), 0);
    Output more = s.node("Tile").input(none).input(multiples).add().output();
    Output padded = Concat.of(s, List.of(ragged, more), 1);
    Output cut = Slice.of(s, padded, new int[] {0, 0}, new int[] {-1, c.length()});
    return Reshape.of(s, cut, Shape.of(-1, c.length()));
  }

  private static DType kind(DType t) {
    return t == DType.STRING
        ? DType.STRING
        : t == DType.FLOAT || t == DType.DOUBLE ? DType.FLOAT : DType.INT64;
  }

  /** What a missing feature stands for; empty where there must be one. */
  private static Tensor missing(Column c) {
    DType kind = kind(c.dtype());
    if (c.missing() == null) {
      return Tensor.allocate(kind, Shape.of(0));
    }
    if (kind == DType.STRING) {
      byte[] text = c.missing().getBytes(StandardCharsets.UTF_8);
      return Tensor.ofObjects(kind, Shape.scalar(), new Object[] {text});
    }
    return kind == DType.FLOAT
        ? Tensor.scalar(Float.parseFloat(c.missing()))
        : Tensor.scalar(Long.parseLong(c.missing()));
  }
}
