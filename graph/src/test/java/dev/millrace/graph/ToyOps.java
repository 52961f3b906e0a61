package dev.millrace.graph;

import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.List;

/** A few ops to build graphs of, without kernels worth the name. */
public final class ToyOps {
  public static final Op SOURCE =
      Op.define("Source")
          .attr("dtype: type = float")
          .attr("shape: shape = []")
          .output("output: dtype")
          .shape(Shapes.attr("shape"))
          .kernel(c -> {})
          .noGradient("a source has no inputs")
          .build();

  public static final Op ADD =
      Op.define("AddV2")
          .attr("T: {float, double, int32}")
          .input("x: T")
          .input("y: T")
          .output("z: T")
          .shape(Shapes.broadcast())
          .kernel(c -> {})
          .gradient(
              g -> {
                g.dx(0, g.dy());
                g.dx(1, g.dy());
              })
          .build();

  /** The first of some tensors, and how many there were. */
  public static final Op FIRST =
      Op.define("First")
          .attr("N: int >= 1")
          .attr("T: type")
          .attr("mode: {'a', 'b'} = 'a'")
          .input("values: N * T")
          .output("first: T")
          .output("count: int32")
          .shape(c -> List.of(c.input(0), Shape.scalar()))
          .kernel(c -> {})
          .noGradient("a toy")
          .build();

  public static final Op MERGE =
      Op.define("Merge")
          .attr("N: int >= 1")
          .attr("T: type")
          .input("inputs: N * T")
          .output("output: T")
          .output("value_index: int32")
          .role(Op.Role.MERGE)
          .shape(c -> List.of(Shape.unknown(), Shape.scalar()))
          .kernel(c -> {})
          .noGradient("a toy")
          .build();

  public static final Op NEXT =
      Op.define("NextIteration")
          .attr("T: type")
          .input("data: T")
          .output("output: T")
          .role(Op.Role.NEXT_ITERATION)
          .shape(Shapes.like(0))
          .kernel(c -> {})
          .noGradient("a toy")
          .build();

  private ToyOps() {}

  public static Graph newGraph() {
    return new Graph(OpRegistry.of(List.of(SOURCE, ADD, FIRST, MERGE, NEXT)));
  }

  public static Output source(Scope scope, DType type, Shape shape) {
    return scope.node(SOURCE).attr("dtype", type).attr("shape", shape).add().output();
  }
}
