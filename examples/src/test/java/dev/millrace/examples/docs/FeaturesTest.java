package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.train.data.column.Column;
import dev.millrace.train.feature.Categories;
import dev.millrace.train.feature.ColumnStatistics;
import dev.millrace.train.feature.Feature;
import dev.millrace.train.feature.FeatureSpec;
import dev.millrace.train.layers.Dense;
import dev.millrace.train.variable.Reuse;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The samples of features.md. */
class FeaturesTest {
  private static FeatureSpec spec(ColumnStatistics prices) {
    // sample spec
    Column site = Column.of("site", DType.STRING);
    Column device = Column.of("device", DType.STRING);
    FeatureSpec features =
        FeatureSpec.of(
                Feature.number("price").normalized(prices),
                Feature.numbers(Column.vector("counts", DType.FLOAT, "I", 1, 13).orElse("0"))
                    .logarithm(),
                Categories.hashed(site, 100_000).embedding(16),
                Categories.vocabulary(device, List.of("phone", "tablet"), 1).oneHot(),
                Categories.crossed("site_device", 10_000, site, device).embedding(8),
                Categories.hashed(Column.list("tags", DType.STRING, 10), 5_000).embedding(8))
            .withLabels(Column.of("click", DType.FLOAT));
    // end
    return features;
  }

  @Test
  void trainingAndServingShareTheirVariables() {
    FeatureSpec features = spec(new ColumnStatistics(new float[] {20}, new float[] {7}));
    Graph graph = StandardOps.newGraph();
    Scope scope = Scope.of(graph);
    List<Output> placeholders =
        features.columns().stream()
            .map(c -> Placeholder.of(scope, c.dtype(), Shape.of(-1).concat(c.type().shape())))
            .toList();
    // sample build
    VariableScope variables = VariableScope.of(scope).withReuse(Reuse.AUTO);
    Output x = features.build(variables, placeholders::get); // those of an element, labels first
    Output logits = Dense.of(variables, "logits", x, 1);

    Map<String, Output> inputs = features.inputs(scope.withSubScope("serving"));
    Output served = Dense.of(variables, "logits", features.build(variables, inputs), 1);
    // end
    assertEquals(logits.shape(), served.shape());
    assertEquals(Shape.of(-1, 1 + 13 + 16 + 3 + 8 + 8), x.shape());
    assertEquals(
        List.of("price", "counts", "site", "device", "tags"), List.copyOf(inputs.keySet()));
    assertEquals(5, Variables.global(graph).size());
  }
}
