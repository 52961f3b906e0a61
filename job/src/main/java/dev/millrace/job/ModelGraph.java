package dev.millrace.job;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.job.flags.ProgramFlags;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.graph.GraphKeys;
import dev.millrace.train.variable.Reuse;
import dev.millrace.train.variable.VariableScope;
import java.util.ArrayList;
import java.util.List;

/**
 * A model in a graph, with its placeholders.
 *
 * @param inputs what a batch is fed to, one for each tensor of an element
 */
record ModelGraph(List<Output> inputs, Model model) {
  /** What an element of {@code data} is made of, as batches of any size. */
  static List<Input> inputsOf(Dataset data) {
    try (Elements elements = data.elements()) {
      Tensor[] first = elements.next();
      if (first == null) {
        throw MillraceException.invalid("The data is empty, so the model has no inputs.");
      }
      List<Input> inputs = new ArrayList<>();
      for (Tensor t : first) {
        inputs.add(new Input(t.dtype(), Shape.of(-1).concat(t.shape())));
      }
      Elements.release(first);
      return inputs;
    }
  }

  /** The type and shape of an input. */
  record Input(DType dtype, Shape shape) {}

  /** Builds the model to train in {@code scope}. */
  static ModelGraph toTrain(JobSpec job, Scope scope, List<Input> inputs, ProgramFlags flags) {
    return build(job, VariableScope.of(scope), inputs, true, flags);
  }

  /** Builds the model to evaluate, over the variables of the one to train if that is there. */
  static ModelGraph toEvaluate(JobSpec job, Scope scope, List<Input> inputs, ProgramFlags flags) {
    Graph graph = scope.graph();
    int summaries = graph.collection(GraphKeys.SUMMARIES).size();
    int updates = graph.collection(GraphKeys.UPDATE_OPS).size();
    VariableScope variables =
        VariableScope.of(scope.withSubScope("evaluation")).withReuse(Reuse.AUTO);
    ModelGraph built = build(job, variables, inputs, false, flags);
    // They are of batches to evaluate, which steps of training do not have.
    truncate(graph.collection(GraphKeys.SUMMARIES), summaries);
    truncate(graph.collection(GraphKeys.UPDATE_OPS), updates);
    return built;
  }

  private static void truncate(List<Object> list, int size) {
    list.subList(size, list.size()).clear();
  }

  private static ModelGraph build(
      JobSpec job,
      VariableScope variables,
      List<Input> inputs,
      boolean training,
      ProgramFlags flags) {
    List<Output> placeholders = new ArrayList<>();
    List<Output> values = new ArrayList<>();
    for (int i = 0; i < inputs.size(); i++) {
      Scope named = variables.scope().withName("input_" + i);
      placeholders.add(Placeholder.of(named, inputs.get(i).dtype(), inputs.get(i).shape()));
      // What is fed cannot be fetched, and a hook may want to see it.
      values.add(Identity.of(named.withName("input_" + i + "/value"), placeholders.getLast()));
    }
    Model model;
    try {
      model = job.model().apply(new ModelBuilder(variables, values, training, flags));
    } catch (MillraceException e) {
      throw e.withMessage("The model cannot be built: " + e.getMessage());
    } catch (RuntimeException e) {
      throw new MillraceException(
          Code.INVALID_ARGUMENT, "The model cannot be built: " + e + ".", e);
    }
    return new ModelGraph(List.copyOf(placeholders), model);
  }

  /** Ops that belong to every step of training, such as those of moving averages. */
  static List<Node> updates(Graph graph) {
    return graph.collection(GraphKeys.UPDATE_OPS).stream()
        .map(u -> u instanceof Output o ? o.node() : (Node) u)
        .toList();
  }
}
