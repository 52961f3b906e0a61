package dev.millrace.job;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.job.flags.ProgramFlags;
import dev.millrace.ops.array.Concat;
import dev.millrace.tensor.Shape;
import dev.millrace.train.layers.Activation;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.layers.Dropout;
import dev.millrace.train.layers.Embedding;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import java.util.List;

/**
 * What a program builds its model with: the inputs, one for each tensor of an element of the data,
 * the usual layers, and the scopes for everything else. A model is built twice, to train and to
 * evaluate; the second time finds the variables of the first.
 */
public final class ModelBuilder {
  private final VariableScope variables;
  private final List<Output> inputs;
  private final boolean training;
  private final ProgramFlags flags;

  ModelBuilder(VariableScope variables, List<Output> inputs, boolean training, ProgramFlags flags) {
    this.variables = variables;
    this.inputs = inputs;
    this.training = training;
    this.flags = flags;
  }

  /** Batches of tensor number {@code i} of the elements, from 0. */
  public Output input(int i) {
    if (i < 0 || i >= inputs.size()) {
      throw MillraceException.invalid(
          "The model asks for input %d; an element of the data has %d tensors, numbered from 0.",
          i, inputs.size());
    }
    return inputs.get(i);
  }

  /** How many inputs there are. */
  public int inputs() {
    return inputs.size();
  }

  /** Whether this is the model that is trained, rather than the one that is evaluated. */
  public boolean training() {
    return training;
  }

  /** The flags of the program. */
  public ProgramFlags flags() {
    return flags;
  }

  /** Where ops are added. */
  public Scope scope() {
    return variables.scope();
  }

  /** Where variables are made. */
  public VariableScope variables() {
    return variables;
  }

  /** A fully connected layer without activation. */
  public Output dense(String name, Output x, int units) {
    return Dense.of(variables, name, x, units);
  }

  /** A fully connected layer with an activation, such as {@code Activations::relu}. */
  public Output dense(String name, Output x, int units, Activation activation) {
    return Dense.of(variables, name, x, units, activation);
  }

  /** The columns of all {@code parts} side by side, each of shape [batch, columns]. */
  public Output concat(Output... parts) {
    return Concat.of(scope(), List.of(parts), 1);
  }

  /** The rows of a table of {@code rows} rows of {@code width} that {@code ids} name. */
  public Output embedding(String name, Output ids, long rows, int width) {
    GraphVariable table =
        variables
            .withSubScope(name)
            .variable("table", Shape.of(rows, width), Initializers.randomUniform(-.05, .05));
    // The name of the table is in that of the node that fails for an id outside of it.
    return Embedding.lookup(scope().withSubScope(name), table, ids);
  }

  /** Sets a share of {@code x} to 0 while training; leaves it alone when evaluating. */
  public Output dropout(Output x, float rate) {
    return training ? Dropout.of(scope(), x, rate) : x;
  }
}
