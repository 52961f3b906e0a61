package dev.millrace.serving.batch;

import dev.millrace.base.MillraceException;
import dev.millrace.serving.model.ModelSignature;
import dev.millrace.serving.model.TensorSpec;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.reflect.Array;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Tensors of rows that are maps of Java's own values. */
public final class RowTensors {
  private RowTensors() {}

  /** The inputs of a signature, each with one row of {@code rows} after the other. */
  public static Map<String, Tensor> of(
      ModelSignature signature, List<? extends Map<String, ?>> rows) {
    if (rows.isEmpty()) {
      throw MillraceException.invalid("There is no row to predict for.");
    }
    for (Map<String, ?> row : rows) {
      row.keySet().forEach(signature::input);
    }
    Map<String, Tensor> inputs = new HashMap<>();
    try {
      for (TensorSpec input : signature.inputs()) {
        if (rows.getFirst().containsKey(input.name())
            || !signature.defaults().containsKey(input.name())) {
          inputs.put(input.name(), column(signature, input, rows));
        }
      }
      return inputs;
    } catch (RuntimeException e) {
      inputs.values().forEach(Tensor::close);
      throw e;
    }
  }

  private static Tensor column(
      ModelSignature signature, TensorSpec input, List<? extends Map<String, ?>> rows) {
    ElementBuffer elements = new ElementBuffer(input);
    Shape shape = null;
    for (int r = 0; r < rows.size(); r++) {
      Object value = rows.get(r).get(input.name());
      if (value == null) {
        throw signature.missing(input.name());
      }
      List<Long> dims = new ArrayList<>();
      add(value, elements, dims, 0);
      Shape of = Shape.of(dims.stream().mapToLong(Long::longValue).toArray());
      if (shape != null && !shape.equals(of)) {
        throw MillraceException.invalid(
            "Input '%s' has shape %s in row 0 and %s in row %d; all rows need one shape.",
            input.name(), shape, of, r);
      }
      shape = of;
    }
    return elements.buildRows(rows.size(), shape);
  }

  private static void add(Object value, ElementBuffer to, List<Long> dims, int depth) {
    switch (value) {
      case Double v -> to.add(v.doubleValue());
      case Float v -> to.add(v.doubleValue());
      case Number v -> to.add(v.longValue());
      case Boolean v -> to.add(v.booleanValue());
      case CharSequence v -> to.add(v.toString().getBytes(StandardCharsets.UTF_8));
      case byte[] v -> to.add(v);
      case List<?> list -> {
        dimension(to, dims, depth, list.size());
        list.forEach(v -> add(v, to, dims, depth + 1));
      }
      default -> {
        if (!value.getClass().isArray()) {
          throw MillraceException.invalid(
              "Input '%s' is a %s; give numbers, booleans, strings, or arrays or lists of those.",
              to.input().name(), value.getClass().getName());
        }
        int n = Array.getLength(value);
        dimension(to, dims, depth, n);
        for (int i = 0; i < n; i++) {
          add(Array.get(value, i), to, dims, depth + 1);
        }
      }
    }
  }

  private static void dimension(ElementBuffer to, List<Long> dims, int depth, int size) {
    if (depth == dims.size()) {
      dims.add((long) size);
    } else if (dims.get(depth) != size) {
      throw MillraceException.invalid(
          "Input '%s' is ragged: a list in it has %d elements and another %d.",
          to.input().name(), dims.get(depth), size);
    }
  }
}
