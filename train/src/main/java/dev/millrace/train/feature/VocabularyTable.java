package dev.millrace.train.feature;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.stream.LongStream;

/**
 * Static tables in a graph, from words to their places. A session fills them before their first
 * use, by the nodes of {@link #initializers}; training sessions do so by themselves.
 */
public final class VocabularyTable {
  private VocabularyTable() {}

  /** The place of each of {@code words} in the list; -1 for others. */
  static Output find(Scope scope, List<String> words, Output text) {
    Scope s = scope.withSubScope("vocabulary");
    Output table =
        s.node("HashTableV2")
            .attr("key_dtype", DType.STRING)
            .attr("value_dtype", DType.INT64)
            .attr("use_node_name_sharing", true)
            .add()
            .output();
    Output keys = Const.of(s, Tensor.vector(words.toArray(String[]::new)));
    Output places = Const.of(s, Tensor.vector(LongStream.range(0, words.size()).toArray()));
    s.node("InitializeTableV2").input(table).input(keys).input(places).add();
    return s.node("LookupTableFindV2")
        .input(table)
        .input(text)
        .input(Const.of(s, -1L))
        .add()
        .output();
  }

  /** The nodes that fill the tables of {@code graph}. */
  public static List<Node> initializers(Graph graph) {
    return graph.nodes().stream().filter(n -> n.op().name().startsWith("InitializeTable")).toList();
  }
}
