package dev.millrace.graph;

import dev.millrace.tensor.DType;
import java.util.List;

/**
 * The body of a function as a separate graph, for nodes that call it repeatedly: a dataset calls it
 * for every element. Arguments come from {@code _Arg} nodes, results go to {@code _Retval} nodes.
 * All nodes are on the caller's device.
 *
 * @param graph the nodes
 * @param arguments the types of the arguments
 * @param results the types of the results
 * @param definition the message it was read from, used when it is encoded again; null if built in
 *     this process
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
