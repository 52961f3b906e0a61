package dev.millrace.train.layers;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.math.MatMul;
import dev.millrace.ops.nn.BiasAdd;
import dev.millrace.tensor.Shape;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializer;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;

/**
 * A fully connected layer, {@code f(x * kernel + bias)}, with variables {@code name/kernel} and
 * {@code name/bias}.
 *
 * @param units how many outputs it has
 * @param activation what is applied last
 * @param kernel what the kernel starts with
 * @param bias what the bias starts with; null for a layer without one
 */
public record Dense(int units, Activation activation, Initializer kernel, Initializer bias) {
  /** A layer of this many outputs, without activation, kernel glorot uniform and bias zero. */
  public static Dense units(int units) {
    return new Dense(units, Activation.NONE, Initializers.glorotUniform(), Initializers.zeros());
  }

  /** The same with an activation, such as {@code Activations::relu}. */
  public Dense activation(Activation f) {
    return new Dense(units, f, kernel, bias);
  }

  /** How the weights begin. */
  public Dense kernel(Initializer initial) {
    return new Dense(units, activation, initial, bias);
  }

  /** How the bias begins; zeros without this. */
  public Dense bias(Initializer initial) {
    return new Dense(units, activation, kernel, initial);
  }

  /** Leaves the bias out. */
  public Dense withoutBias() {
    return new Dense(units, activation, kernel, null);
  }

  /** A layer without activation. */
  public static Output of(VariableScope model, String name, Output x, int units) {
    return units(units).of(model, name, x);
  }

  /** A layer with an activation. */
  public static Output of(VariableScope model, String name, Output x, int units, Activation f) {
    return units(units).activation(f).of(model, name, x);
  }

  /** Adds the layer. All dimensions of {@code x} but the last are taken as a batch. */
  public Output of(VariableScope model, String name, Output x) {
    Shape in = x.shape();
    if (in.rank() < 2 || in.dim(-1) < 0) {
      throw MillraceException.invalid(
          "Dense layer '%s': the input '%s' has shape %s; it needs a rank of at least 2 and a known"
              + " last dimension. Reshape or flatten it.",
          name, x.name(), in);
    }
    VariableScope vs = model.withSubScope(name);
    Scope s = vs.scope();
    GraphVariable w = vs.variable("kernel", x.dtype(), Shape.of(in.dim(-1), units), kernel);
    GraphVariable b = bias == null ? null : vs.variable("bias", x.dtype(), Shape.of(units), bias);
    Output rows = in.rank() == 2 ? x : Flatten.rows(s, x);
    Output y = MatMul.of(s, rows, w.read());
    y = in.rank() == 2 ? y : Flatten.unrolled(s, y, x, units);
    y = b == null ? y : BiasAdd.of(s, y, b.read());
    return activation.of(s, y);
  }
}
