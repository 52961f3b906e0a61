package dev.millrace.cli.serving;

import dev.millrace.base.Closest;
import dev.millrace.base.MillraceException;
import dev.millrace.serving.batch.ElementBuffer;
import dev.millrace.serving.model.ModelSignature;
import dev.millrace.serving.model.TensorSpec;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Which columns of a table an input takes: the one of its name, or, if a row of it has several
 * elements, {@code name[0]}, {@code name[1]} and so on.
 */
final class InputColumns {
  private final ModelSignature signature;
  private final List<int[]> columns = new ArrayList<>();
  private final List<TensorSpec> inputs = new ArrayList<>();
  private final List<String> unused;

  InputColumns(ModelSignature signature, List<String> header) {
    this.signature = signature;
    unused = new ArrayList<>(header);
    for (TensorSpec input : signature.inputs()) {
      int[] found = find(input, header);
      if (found == null) {
        continue;
      }
      inputs.add(input);
      columns.add(found);
      for (int c : found) {
        unused.remove(header.get(c));
      }
    }
  }

  private int[] find(TensorSpec input, List<String> header) {
    int size = elements(input);
    int[] found = new int[size];
    for (int i = 0; i < size; i++) {
      String name = size == 1 ? input.name() : input.name() + "[" + i + "]";
      found[i] = header.indexOf(name);
      if (found[i] < 0) {
        if (i == 0 && signature.defaults().containsKey(input.name())) {
          return null;
        }
        throw MillraceException.invalid(
            "There is no column '%s', which input '%s' needs; the columns are %s.%s",
            name, input, header, Closest.hint(name, header));
      }
    }
    return found;
  }

  /** How many elements a row of an input has. */
  private static int elements(TensorSpec input) {
    Shape s = input.shape();
    if (!s.hasRank() || s.rank() == 0 || !s.slice(1, s.rank()).isKnown()) {
      throw MillraceException.invalid(
          "Input '%s' does not say how many elements a row has, so it cannot come from columns.",
          input);
    }
    return Math.toIntExact(s.slice(1, s.rank()).elements());
  }

  /** The columns that no input takes. */
  List<String> unused() {
    return unused;
  }

  /** A batch while it is filled. */
  final class Rows {
    private final List<ElementBuffer> elements = inputs.stream().map(ElementBuffer::new).toList();
    private int count;

    /** Adds a row. */
    void add(List<String> row) {
      for (int i = 0; i < elements.size(); i++) {
        for (int c : columns.get(i)) {
          elements.get(i).addText(row.get(c));
        }
      }
      count++;
    }

    int count() {
      return count;
    }

    /** The inputs of the signature; the caller closes them. */
    Map<String, Tensor> tensors() {
      Map<String, Tensor> all = new HashMap<>();
      for (ElementBuffer e : elements) {
        Shape s = e.input().shape();
        all.put(e.input().name(), e.build(Shape.of(count).concat(s.slice(1, s.rank()))));
      }
      return all;
    }
  }
}
