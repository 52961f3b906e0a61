package dev.millrace.ops;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.tensor.Tensor;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** How gradients of many nodes come together; those of each op are held against TensorFlow's. */
class GradientsTest {
  @AutoClose private final TinySession session = new TinySession();
  private final Scope scope = session.scope();
  private final Output x = named("x", Tensor.vector(2f, 3f));
  private final Output z = named("z", Tensor.vector(5f, 7f));

  private Output named(String name, Tensor value) {
    return Const.of(scope.withName(name), value);
  }

  private Grad grad(Output y, Output of) {
    return Gradients.of(scope, List.of(y), List.of(of)).getFirst();
  }

  private float[] values(Grad g) {
    return session.fetch(Gradients.dense(scope, g)).toFloats();
  }

  private long count(String op) {
    return scope.graph().nodes().stream().filter(n -> n.op().name().equals(op)).count();
  }

  private Output gather(Output params, int... rows) {
    return scope
        .node("GatherV2")
        .input(params)
        .input(Const.of(scope, Tensor.vector(rows)))
        .input(Const.of(scope, 0))
        .add()
        .output();
  }

  private Output sum(Output v) {
    return scope.node("Sum").input(v).input(Const.of(scope, 0)).add().output();
  }

  private Node node(String op, Output in) {
    return scope.withName("the_" + op).node(op).input(in).add();
  }

  @Test
  void onePathNeedsNoSum() {
    assertArrayEquals(new float[] {5, 7}, values(grad(Arithmetic.mul(scope, x, z), x)));
    assertEquals(0, count("AddN"));
  }

  @Test
  void severalPathsAreSummedOnce() {
    Output y = Arithmetic.add(scope, Arithmetic.mul(scope, x, z), Arithmetic.mul(scope, x, x));
    assertArrayEquals(new float[] {5 + 4, 7 + 6}, values(grad(y, x)));
    assertEquals(1, count("AddN"));
    Node sum =
        scope.graph().nodes().stream()
            .filter(n -> n.op().name().equals("AddN"))
            .findFirst()
            .orElseThrow();
    assertEquals(3, sum.inputCount(), "all that comes back is added by one node");
  }

  @Test
  void theYsAreSummed() {
    Output a = Arithmetic.mul(scope, x, z);
    Output b = Arithmetic.mul(scope, a, x);
    Grad g = Gradients.of(scope, List.of(a, b), List.of(x)).getFirst();
    assertArrayEquals(new float[] {5 + 2 * 2 * 5, 7 + 2 * 3 * 7}, values(g));
  }

  @Test
  void aYThatIsAnXHasItsOwnGradient() {
    Output y = Arithmetic.mul(scope, x, x);
    List<Grad> g = Gradients.of(scope, List.of(y), List.of(y, x));
    assertArrayEquals(new float[] {1, 1}, values(g.get(0)));
    assertArrayEquals(new float[] {4, 6}, values(g.get(1)));
  }

  @Test
  void whatDoesNotDependOnItHasNone() {
    Output y = Arithmetic.mul(scope, x, x);
    assertInstanceOf(Grad.None.class, grad(y, z));
    assertThrows(MillraceException.class, () -> Gradients.dense(scope, new Grad.None()));
  }

  @Test
  void stopGradientCutsAPath() {
    Output stopped = node("StopGradient", x).output();
    assertArrayEquals(new float[] {2, 3}, values(grad(Arithmetic.mul(scope, x, stopped), x)));
    assertInstanceOf(Grad.None.class, grad(Arithmetic.mul(scope, stopped, z), x));
  }

  @Test
  void stopsAreConstantsButHaveGradients() {
    Output a = Arithmetic.mul(scope, x, z);
    Output y = Arithmetic.mul(scope, a, x);
    List<Grad> g =
        Gradients.of(
            scope, List.of(y), List.of(a, x, z), Gradients.Options.DEFAULT.withStops(List.of(a)));
    assertArrayEquals(new float[] {2, 3}, values(g.get(0)));
    assertArrayEquals(new float[] {10, 21}, values(g.get(1)), "as if a were a constant");
    assertInstanceOf(Grad.None.class, g.get(2));
  }

  @Test
  void gradientsOfTheYsMayBeGiven() {
    Output y = Arithmetic.mul(scope, x, z);
    Gradients.Options start =
        Gradients.Options.DEFAULT.withStarts(List.of(named("dy", Tensor.vector(10f, 100f))));
    Grad g = Gradients.of(scope, List.of(y), List.of(x), start).getFirst();
    assertArrayEquals(new float[] {50, 700}, values(g));
  }

  @Test
  void gradientsGivenMustFit() {
    Output y = Arithmetic.mul(scope, x, z);
    for (Output wrong :
        List.of(named("dy", Tensor.vector(1.0, 2.0)), named("d", Tensor.vector(1f)))) {
      Gradients.Options options = Gradients.Options.DEFAULT.withStarts(List.of(wrong));
      String message = refusal(() -> Gradients.of(scope, List.of(y), List.of(x), options));
      assertTrue(message.contains(wrong.name()) && message.contains(y.name()), message);
    }
    Gradients.Options two = Gradients.Options.DEFAULT.withStarts(List.of(y, y));
    assertTrue(
        refusal(() -> Gradients.of(scope, List.of(y), List.of(x), two)).contains("2 gradients"));
  }

  @Test
  void rowsStayRowsAndAreConcatenated() {
    Output m = named("m", Tensor.vector(1f, 2f, 3f, 4f));
    Output y = Arithmetic.add(scope, sum(gather(m, 1, 1)), sum(gather(m, 3)));
    Grad g = grad(y, m);
    Grad.Rows rows = assertInstanceOf(Grad.Rows.class, g);
    assertEquals(3, session.fetch(rows.indices()).elements());
    assertArrayEquals(new float[] {0, 2, 0, 1}, values(g));
  }

  @Test
  void rowsAndATensorMakeATensor() {
    Output m = named("m", Tensor.vector(1f, 2f, 3f, 4f));
    Output y = Arithmetic.add(scope, sum(gather(m, 1, 1)), sum(Arithmetic.mul(scope, m, m)));
    Grad g = grad(y, m);
    assertInstanceOf(Grad.Dense.class, g);
    assertArrayEquals(new float[] {2, 4 + 2, 6, 8}, values(g));
  }

  @Test
  void anOpWithoutAGradientIsNamed() {
    Output y = node("PreventGradient", x).output();
    assertTrue(refusal(() -> grad(y, x)).contains("'the_PreventGradient'"));
  }

  @Test
  void anOpThatIsFlatEverywhereGivesNone() {
    assertInstanceOf(Grad.None.class, grad(node("Floor", x).output(), x));
  }

  @Test
  void onlyNumbersWithAFractionHaveGradients() {
    Output whole = named("whole", Tensor.vector(1, 2));
    String message = refusal(() -> grad(whole, whole));
    assertTrue(message.contains("'whole:0' is int32"), message);
  }

  @Test
  void gradientsArePlacedWithTheirOpsIfAsked() {
    Output y = Arithmetic.mul(scope.withName("product").withDevice("/job:ps/task:1"), x, z);
    Gradients.of(scope, List.of(y), List.of(x), true);
    List<Node> colocated =
        scope.graph().nodes().stream().filter(n -> n.colocations().contains("product")).toList();
    assertTrue(!colocated.isEmpty());
    colocated.forEach(n -> assertEquals(y.node().device(), n.device(), n.name()));
    int before = scope.graph().size();
    Gradients.of(scope, List.of(y), List.of(x), false);
    List<Node> added = scope.graph().nodes().subList(before, scope.graph().size());
    assertTrue(added.stream().noneMatch(n -> n.colocations().contains("product")));
  }

  private static String refusal(Executable call) {
    return assertThrows(MillraceException.class, call).getMessage();
  }
}
