package dev.millrace.serving.served;

import dev.millrace.base.MillraceException;
import dev.millrace.serving.Predictor;
import dev.millrace.serving.model.ModelSignature;
import dev.millrace.serving.model.TensorSpec;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Calls each signature once with zeros, so that the first request does not wait for its plan. */
final class WarmUp {
  private static final Logger LOG = LoggerFactory.getLogger(WarmUp.class);
  private static final long MOST_ELEMENTS = 1 << 22;

  private WarmUp() {}

  static void run(Predictor p) {
    for (ModelSignature s : p.signatures().values()) {
      Tensor[] inputs = new Tensor[s.inputs().size()];
      try {
        for (int i = 0; i < inputs.length; i++) {
          inputs[i] = zeros(s.inputs().get(i));
        }
        for (Tensor t : p.run(s, inputs)) {
          t.close();
        }
      } catch (MillraceException e) {
        // Zeros are not what every model takes.
        LOG.debug("Signature '{}' was not warmed up: {}", s.name(), e.getMessage());
      } finally {
        for (Tensor t : inputs) {
          if (t != null) {
            t.close();
          }
        }
      }
    }
  }

  private static Tensor zeros(TensorSpec input) {
    Shape shape = input.shape();
    if (!shape.hasRank()) {
      throw MillraceException.invalid("'%s' has an unknown rank.", input.name());
    }
    for (int i = 0; i < shape.rank(); i++) {
      shape = shape.dim(i) == Shape.UNKNOWN ? shape.withDim(i, 1) : shape;
    }
    if (shape.elements() > MOST_ELEMENTS) {
      throw MillraceException.invalid("'%s' is large.", input.name());
    }
    if (input.dtype() == DType.STRING) {
      Object[] empty = new Object[(int) shape.elements()];
      Arrays.fill(empty, new byte[0]);
      return Tensor.ofObjects(DType.STRING, shape, empty);
    }
    Tensor t = Tensor.allocate(input.dtype(), shape);
    t.data().fill((byte) 0);
    return t;
  }
}
