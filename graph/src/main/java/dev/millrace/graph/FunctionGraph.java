package dev.millrace.graph;

import dev.millrace.tensor.DType;
import java.util.List;

/**
 * The body of a function as a graph of its own, for the nodes that call it as often as they like: a
 * dataset calls it for every element. Its arguments come from {@code _Arg} nodes, its results go to
 * {@code _Retval} nodes; all nodes are on the caller's device.
 *
 * @param graph the nodes
 * @param arguments the types of what it takes
 * @param results the types of what it gives
 * @param definition what it was read from, for those who write it again; null if made by hand
 */
public record FunctionGraph(
    Graph graph, List<DType> arguments, List<DType> results, Object definition) {
  @Override
  public boolean equals(Object o) {
    return o instanceof FunctionGraph f && f.graph == graph;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(graph);
  }
}
