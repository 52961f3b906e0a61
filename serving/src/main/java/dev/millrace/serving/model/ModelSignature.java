package dev.millrace.serving.model;

import dev.millrace.base.Closest;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.SignatureDef;
import dev.millrace.proto.TensorProto;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.TensorCodec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a model can be asked for: inputs and outputs by name, in the order of their names.
 *
 * @param name the name of the signature
 * @param method TensorFlow's word for its kind, such as {@code tensorflow/serving/predict}
 * @param inputs what it takes
 * @param outputs what it gives
 * @param defaults the values of inputs that may be left out
 */
public record ModelSignature(
    String name,
    String method,
    List<TensorSpec> inputs,
    List<TensorSpec> outputs,
    Map<String, Tensor> defaults) {
  /** The signature that is meant where none is named. */
  public static final String SERVING = "serving_default";

  public static final String PREDICT = "tensorflow/serving/predict";
  public static final String CLASSIFY = "tensorflow/serving/classify";
  public static final String REGRESS = "tensorflow/serving/regress";

  static ModelSignature of(String name, SignatureDef def) {
    Map<String, Tensor> defaults = new LinkedHashMap<>();
    for (Map.Entry<String, TensorProto> e : def.getDefaultsMap().entrySet()) {
      defaults.put(e.getKey(), TensorCodec.decode(e.getValue()));
    }
    return new ModelSignature(
        name,
        def.getMethodName(),
        specs(def.getInputsMap()),
        specs(def.getOutputsMap()),
        Map.copyOf(defaults));
  }

  private static List<TensorSpec> specs(Map<String, dev.millrace.proto.TensorInfo> infos) {
    List<TensorSpec> specs = new ArrayList<>();
    infos.forEach((name, info) -> specs.add(TensorSpec.of(name, info)));
    specs.sort(Comparator.comparing(TensorSpec::name));
    return List.copyOf(specs);
  }

  /** The position of the input with this name; an error names those there are. */
  public int input(String input) {
    return position(inputs, input, "input");
  }

  /** The position of the output with this name; an error names those there are. */
  public int output(String output) {
    return position(outputs, output, "output");
  }

  private int position(List<TensorSpec> specs, String wanted, String what) {
    for (int i = 0; i < specs.size(); i++) {
      if (specs.get(i).name().equals(wanted)) {
        return i;
      }
    }
    List<String> names = specs.stream().map(TensorSpec::name).toList();
    throw MillraceException.invalid(
        "Signature '%s' has no %s '%s'; it has %s.%s",
        name, what, wanted, names, Closest.hint(wanted, names));
  }

  /** The values of all inputs in order: those given by name, and defaults. */
  public Tensor[] arguments(Map<String, Tensor> given) {
    Tensor[] values = new Tensor[inputs.size()];
    int used = 0;
    for (int i = 0; i < values.length; i++) {
      String input = inputs.get(i).name();
      values[i] = given.get(input);
      if (values[i] != null) {
        used++;
      } else {
        values[i] = defaults.get(input);
      }
    }
    if (used < given.size()) {
      given.keySet().forEach(this::input);
    }
    for (int i = 0; i < values.length; i++) {
      if (values[i] == null) {
        throw missing(inputs.get(i).name());
      }
    }
    return values;
  }

  /** The error of a call without this input. */
  public MillraceException missing(String input) {
    return MillraceException.invalid(
        "Input '%s' is missing; signature '%s' takes %s.", input, name, inputs);
  }
}
