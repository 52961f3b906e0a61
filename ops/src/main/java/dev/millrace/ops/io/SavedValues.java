package dev.millrace.ops.io;

import dev.millrace.graph.AttrValue;
import dev.millrace.graph.Fusion.Fused;
import dev.millrace.graph.Fusion.Readers;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.resource.Variable;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.state.ReadVariable;
import dev.millrace.ops.state.VariableKind;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ObjIntConsumer;

/**
 * The inputs of a save op. Variables are snapshots: a variable and its companions, such as the
 * slots of an optimizer, are copied together while no step can change them, one such group after
 * another. So a checkpoint holds no partial update, and a save needs memory for one group only.
 *
 * <p>A save op gets a variable as a reference, as in TensorFlow's graphs. If a node in between
 * reads the variable, {@link #fuse} removes it.
 */
final class SavedValues {
  private final KernelContext context;
  private final int first;

  /** The variables among the values, by the index of the value; null for a plain tensor. */
  private final Variable[] variables;

  /**
   * The values from input {@code first} on.
   *
   * @param handles whether a resource handle stands for the value of its variable
   */
  SavedValues(KernelContext context, int first, boolean handles) {
    this.context = context;
    this.first = first;
    this.variables = new Variable[context.inputCount() - first];
    for (int i = 0; i < variables.length; i++) {
      Output in = context.node().input(first + i);
      if (in.isRef()) {
        variables[i] = context.ref(first + i);
      } else if (handles && in.dtype() == DType.RESOURCE) {
        variables[i] = VariableKind.RESOURCE.at(context, first + i);
      }
    }
  }

  /**
   * Gives all values with their indices to {@code writer}, which must not keep them. False if
   * variables turned out to be companions meanwhile, because a step changed them as one for the
   * first time: they may not agree then, and must be written again.
   */
  boolean writeTo(ObjIntConsumer<Tensor> writer) {
    List<List<Integer>> groups = groups();
    for (List<Integer> group : groups) {
      context.cancellation().check();
      if (variables[group.getFirst()] == null) {
        writer.accept(context.input(first + group.getFirst()), group.getFirst());
      } else {
        writeTogether(group, writer);
      }
    }
    return groups.equals(groups());
  }

  /** The indices of the values, those of companions in one list. */
  private List<List<Integer>> groups() {
    List<List<Integer>> groups = new ArrayList<>();
    Map<Variable, List<Integer>> byLeader = new HashMap<>();
    for (int i = 0; i < variables.length; i++) {
      List<Integer> group =
          variables[i] == null
              ? null
              : byLeader.computeIfAbsent(variables[i].leader(), v -> new ArrayList<>());
      if (group == null) {
        groups.add(List.of(i));
        continue;
      }
      if (group.isEmpty()) {
        groups.add(group);
      }
      group.add(i);
    }
    return groups;
  }

  private void writeTogether(List<Integer> group, ObjIntConsumer<Tensor> writer) {
    List<Tensor> taken = new ArrayList<>();
    try {
      Variable.holdAll(
          group.stream().map(i -> variables[i]).toList(),
          () -> group.forEach(i -> taken.add(take(i))));
      for (int k = 0; k < taken.size(); k++) {
        writer.accept(taken.get(k), group.get(k));
      }
    } finally {
      taken.forEach(Refs::release);
    }
  }

  /** The value as it is now: a step changes a reference in place, and any other in a copy. */
  private Tensor take(int i) {
    Tensor value = variables[i].read();
    if (!context.node().input(first + i).isRef()) {
      return value;
    }
    try {
      return Refs.copy(value);
    } finally {
      Refs.release(value);
    }
  }

  /**
   * Gives the save op {@code last} the variables themselves where it would get what other nodes
   * read of them, if no other node uses that read.
   *
   * @param op what to run instead, of the same signature
   * @param types the attribute with the types of the values
   */
  static Fused fuse(Node last, Readers readers, Op op, int first, String types) {
    List<Node> absorbed = new ArrayList<>();
    List<Output> inputs = new ArrayList<>(last.inputs());
    for (int i = first; i < inputs.size(); i++) {
      Output source = inputs.get(i);
      if (source.dtype() == DType.RESOURCE) {
        return null;
      }
      List<Node> between = new ArrayList<>();
      while (!isVariable(source)
          && isRead(source.node())
          && readers.of(source.node()).size() == 1) {
        between.add(source.node());
        source = source.node().input(0);
      }
      if (isVariable(source)) {
        absorbed.addAll(between);
        inputs.set(i, source);
      }
    }
    if (absorbed.isEmpty()) {
      return null;
    }
    Map<String, AttrValue> attrs = new HashMap<>(last.attrs());
    attrs.put(
        types,
        AttrValue.of(inputs.subList(first, inputs.size()).stream().map(Output::dtype).toList()));
    return new Fused(op, attrs, inputs, absorbed);
  }

  private static boolean isVariable(Output o) {
    return o.isRef() || o.dtype() == DType.RESOURCE;
  }

  private static boolean isRead(Node n) {
    return n.op() == Identity.OP || n.op() == ReadVariable.OP;
  }
}
