package dev.millrace.interop.bench;

import dev.millrace.interop.GraphWriter;
import dev.millrace.proto.GraphDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;

/**
 * A step that computes nothing: a worker fetches something from every parameter server. What it
 * fetches tells what the step costs beside the computing.
 */
public enum NullStep {
  /** One float from each. */
  SCALAR,
  /** 16 MiB in all, in equal parts. */
  DENSE,
  /** 32 random rows of a table of 64 MiB that lies on all in equal parts. */
  SPARSE;

  private static final long DENSE_FLOATS = 4 << 20;
  private static final long TABLE_ROWS = 1 << 18;
  private static final long ROW_FLOATS = 64;
  private static final int LOOKUPS = 32;

  /** {@code init} fills the variables; the step is {@code here}. */
  GraphDef graph(int psTasks, int worker) {
    GraphWriter graph = new GraphWriter();
    List<String> inits = new ArrayList<>();
    List<String> fetched = new ArrayList<>();
    Random random = new Random(7);
    for (int i = 0; i < psTasks; i++) {
      graph.device("/job:ps/task:" + i);
      Shape shape =
          switch (this) {
            case SCALAR -> Shape.scalar();
            case DENSE -> Shape.of(DENSE_FLOATS / psTasks);
            case SPARSE -> Shape.of(TABLE_ROWS / psTasks, ROW_FLOATS);
          };
      String v = "v" + i;
      graph.add(v, "VariableV2", Map.of("dtype", DType.FLOAT, "shape", shape));
      graph.constant("dims" + i, Tensor.vector(shape.dims()));
      graph.constant("value" + i, Tensor.scalar(1f));
      graph.add("fill" + i, "Fill", Map.of(), "dims" + i, "value" + i);
      inits.add("^" + graph.add("init" + i, "Assign", Map.of(), v, "fill" + i));
      if (this == SPARSE) {
        int[] rows = random.ints(LOOKUPS, 0, (int) TABLE_ROWS / psTasks).toArray();
        graph.constant("rows" + i, Tensor.vector(rows));
        graph.add("read" + i, "Identity", Map.of(), v);
        v = graph.add("lookup" + i, "Gather", Map.of(), "read" + i, "rows" + i);
      }
      fetched.add(v);
    }
    graph.device("/job:worker/task:" + worker);
    List<String> here = new ArrayList<>();
    for (int i = 0; i < psTasks; i++) {
      here.add("^" + graph.add("here" + i, "Identity", Map.of(), fetched.get(i)));
    }
    graph.add("here", "NoOp", Map.of(), here.toArray(new String[0]));
    graph.add("init", "NoOp", Map.of(), inits.toArray(new String[0]));
    return graph.build();
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
