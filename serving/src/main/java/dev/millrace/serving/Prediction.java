package dev.millrace.serving;

import dev.millrace.base.MillraceException;
import dev.millrace.serving.model.ModelSignature;
import dev.millrace.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The outputs of a call. Closing it gives back their memory; the garbage collector does so later if
 * that is forgotten.
 */
public final class Prediction implements AutoCloseable {
  private final ModelSignature signature;
  private final Tensor[] outputs;

  Prediction(ModelSignature signature, Tensor[] outputs) {
    this.signature = signature;
    this.outputs = outputs;
  }

  /** The output of this name. It is closed with the prediction. */
  public Tensor get(String output) {
    return outputs[signature.output(output)];
  }

  /** The only output, of a signature that has one. */
  public Tensor only() {
    if (outputs.length != 1) {
      throw MillraceException.invalid(
          "Signature '%s' has %d outputs: name one of %s.",
          signature.name(), outputs.length, signature.outputs());
    }
    return outputs[0];
  }

  /** The elements of an output in row-major order. */
  public float[] floats(String output) {
    return get(output).toFloats();
  }

  /** All outputs by name. They are closed with the prediction. */
  public Map<String, Tensor> asMap() {
    Map<String, Tensor> all = new LinkedHashMap<>();
    for (int i = 0; i < outputs.length; i++) {
      all.put(signature.outputs().get(i).name(), outputs[i]);
    }
    return all;
  }

  @Override
  public void close() {
    for (Tensor t : outputs) {
      t.close();
    }
  }
}
