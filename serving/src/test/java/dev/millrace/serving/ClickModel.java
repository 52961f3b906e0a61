package dev.millrace.serving;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Concat;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.ExpandDims;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Unary;
import dev.millrace.ops.nn.Activations;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.checkpoint.SavedModel;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.layers.Embedding;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * A model of clicks as users have it: a site looked up in a vocabulary file, embeddings, numbers,
 * two layers. Its variables are references, as Millrace makes them by default.
 */
public final class ClickModel implements AutoCloseable {
  final Graph graph = StandardOps.newGraph();
  final Scope scope = Scope.of(graph);
  final Output site = Placeholder.of(scope.withName("site"), DType.STRING, Shape.of(-1));
  final Output ad = Placeholder.of(scope.withName("ad"), DType.INT64, Shape.of(-1));
  final Output price = Placeholder.of(scope.withName("price"), DType.FLOAT, Shape.of(-1));
  final Output click;
  final GraphVariable bias;
  final Session session = new LocalSession(graph);

  public ClickModel(Path vocabulary, long seed) throws IOException {
    graph.setSeed(seed);
    Files.writeString(vocabulary, "a.org\nb.org\nc.org\n");
    VariableScope v = VariableScope.of(scope);
    Output table =
        scope
            .withName("sites")
            .node("HashTableV2")
            .attr("shared_name", "sites")
            .attr("key_dtype", DType.STRING)
            .attr("value_dtype", DType.INT64)
            .add()
            .output();
    scope
        .withName("sites/fill")
        .node("InitializeTableFromTextFileV2")
        .input(table)
        .input(Const.of(scope.withName("sites/file"), vocabulary.toString()))
        .attr("key_index", -2)
        .attr("value_index", -1)
        .add();
    Output id =
        scope
            .node("LookupTableFindV2")
            .input(table)
            .input(site)
            .input(Const.of(scope, 3L))
            .attr("Tout", DType.INT64)
            .add()
            .output();
    GraphVariable sites =
        v.variable("sites_embedding", DType.FLOAT, Shape.of(4, 4), Initializers.glorotUniform());
    GraphVariable ads =
        v.variable("ads_embedding", DType.FLOAT, Shape.of(100, 8), Initializers.glorotUniform());
    Output features =
        Concat.of(
            scope,
            List.of(
                Embedding.lookup(scope, sites, id),
                Embedding.lookup(scope, ads, ad),
                ExpandDims.of(scope, price, 1)),
            1);
    Output hidden = Dense.of(v, "hidden", features, 16, Activations::relu);
    bias = v.variable("shift", DType.FLOAT, Shape.scalar(), Initializers.constant(.25));
    Output logit = Dense.of(v, "logit", hidden, 1);
    click =
        Unary.sigmoid(
            scope.withName("click"),
            dev.millrace.ops.math.Arithmetic.add(scope, logit, bias.read()));
    session.run(Variables.initializer(scope));
    session.run(graph.node("sites/fill"));
  }

  SavedModel.Signature signature() {
    return new SavedModel.Signature(
        Map.of("site", site, "ad", ad, "price", price), Map.of("click", click));
  }

  public void export(Path folder) {
    SavedModel.export(session, graph, folder, signature());
  }

  /** Sets the bias, by which versions of the model can be told apart. */
  public void setBias(float value) {
    try (Tensor t = Tensor.scalar(value)) {
      Output in = Placeholder.of(scope.withName("new_bias"), DType.FLOAT, Shape.scalar());
      session.run(Map.of(in, t), bias.assign(scope, in));
    }
  }

  /** What the session of training says. */
  public float[] expected(String[] sites, long[] ads, float[] prices) {
    try (Tensor s = Tensor.vector(sites);
        Tensor a = Tensor.vector(ads);
        Tensor p = Tensor.vector(prices);
        Tensor out = session.fetch(click, Map.of(site, s, ad, a, price, p))) {
      return out.toFloats();
    }
  }

  @Override
  public void close() {
    session.close();
  }
}
