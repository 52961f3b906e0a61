package dev.millrace.serving.served;

import dev.millrace.base.MillraceException;
import dev.millrace.proto.Example;
import dev.millrace.proto.serving.ClassificationResult;
import dev.millrace.proto.serving.Classifications;
import dev.millrace.proto.serving.Regression;
import dev.millrace.proto.serving.RegressionResult;
import dev.millrace.serving.model.ModelSignature;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;

/** Classify and regress: signatures that take serialized examples and give known outputs. */
public final class ExampleCalls {
  private static final String CLASSES = "classes";
  private static final String SCORES = "scores";
  private static final String OUTPUTS = "outputs";

  private ExampleCalls() {}

  /** The classes of each example, with their scores. */
  public static ClassificationResult classify(ServedModels.Target target, List<Example> examples) {
    ModelSignature s = checked(target, ModelSignature.CLASSIFY);
    Tensor[] outputs = call(target, s, examples);
    try {
      Tensor classes = find(s, outputs, CLASSES);
      Tensor scores = find(s, outputs, SCORES);
      if (classes == null && scores == null) {
        throw MillraceException.invalid(
            "Signature '%s' has neither an output '%s' nor '%s'.", s.name(), CLASSES, SCORES);
      }
      long perRow = perRow(classes == null ? scores : classes, examples.size(), s);
      ClassificationResult.Builder result = ClassificationResult.newBuilder();
      for (int r = 0; r < examples.size(); r++) {
        Classifications.Builder row = result.addClassificationsBuilder();
        for (long c = 0; c < perRow; c++) {
          long at = r * perRow + c;
          dev.millrace.proto.serving.Class.Builder one = row.addClassesBuilder();
          if (classes != null) {
            one.setLabel(classes.stringAt(at));
          }
          if (scores != null) {
            perRow(scores, examples.size(), s);
            one.setScore((float) scores.doubleAt(at));
          }
        }
      }
      return result.build();
    } finally {
      close(outputs);
    }
  }

  /** The value of each example. */
  public static RegressionResult regress(ServedModels.Target target, List<Example> examples) {
    ModelSignature s = checked(target, ModelSignature.REGRESS);
    Tensor[] outputs = call(target, s, examples);
    try {
      Tensor values = outputs[s.output(OUTPUTS)];
      if (perRow(values, examples.size(), s) != 1) {
        throw MillraceException.invalid(
            "Output '%s' has shape %s; a regression has one value for each example.",
            OUTPUTS, values.shape());
      }
      RegressionResult.Builder result = RegressionResult.newBuilder();
      for (int r = 0; r < examples.size(); r++) {
        result.addRegressions(Regression.newBuilder().setValue((float) values.doubleAt(r)));
      }
      return result.build();
    } finally {
      close(outputs);
    }
  }

  private static ModelSignature checked(ServedModels.Target target, String method) {
    ModelSignature s = target.signature();
    if (!s.method().equals(method)
        || s.inputs().size() != 1
        || s.inputs().getFirst().dtype() != DType.STRING) {
      throw MillraceException.invalid(
          "Signature '%s' has the method '%s' and takes %s; this call needs one of '%s' that takes"
              + " serialized examples. Ask it by predict.",
          s.name(), s.method(), s.inputs(), method);
    }
    return s;
  }

  private static Tensor[] call(
      ServedModels.Target target, ModelSignature s, List<Example> examples) {
    if (examples.isEmpty()) {
      throw MillraceException.invalid("There is no example in the request.");
    }
    Object[] bytes = examples.stream().map(Example::toByteArray).toArray();
    Tensor input = Tensor.ofObjects(DType.STRING, Shape.of(bytes.length), bytes);
    return ServedModels.predict(target, s, Map.of(s.inputs().getFirst().name(), input));
  }

  private static Tensor find(ModelSignature s, Tensor[] outputs, String name) {
    return s.outputs().stream().anyMatch(o -> o.name().equals(name))
        ? outputs[s.output(name)]
        : null;
  }

  private static long perRow(Tensor t, int rows, ModelSignature s) {
    if (t.shape().rank() < 1 || t.shape().dim(0) != rows) {
      throw MillraceException.invalid(
          "Signature '%s' gives an output of shape %s for %d examples.", s.name(), t.shape(), rows);
    }
    return t.elements() / rows;
  }

  private static void close(Tensor[] tensors) {
    for (Tensor t : tensors) {
      t.close();
    }
  }
}
