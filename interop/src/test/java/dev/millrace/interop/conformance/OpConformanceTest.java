package dev.millrace.interop.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.interop.conformance.Finding.Kind;
import dev.millrace.interop.conformance.GradientConformance.Measure;
import dev.millrace.proto.GraphDef;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** An engine that is wrong in one way is found to be wrong in that way. */
class OpConformanceTest {
  private final OpCase square = new OpCase("Square", List.of(Tensor.vector(1.0, 2.0, 3.0)));

  @Test
  void tensorFlowAgreesWithItself() {
    assertEquals(Set.of(), kinds(new Skewed(), square));
  }

  @Test
  void aValueOffByMoreThanRoundingIsFound() {
    Skewed skewed = new Skewed();
    skewed.value = t -> changed(t, 1 + 1e-9);
    assertTrue(kinds(skewed, square).contains(Kind.VALUE));
    skewed.value = t -> changed(t, 1 + 1e-15);
    assertEquals(Set.of(), kinds(skewed, square));
  }

  @Test
  void anotherTypeOrShapeIsFound() {
    Skewed skewed = new Skewed();
    skewed.value = t -> t.reshaped(Shape.of(1, 3));
    assertTrue(kinds(skewed, square).contains(Kind.VALUE));
    skewed.value = t -> Values.filled(DType.FLOAT, 1, 3);
    assertTrue(kinds(skewed, square).contains(Kind.VALUE));
  }

  @Test
  void knowingLessOrSomethingFalseBeforeRunningIsFound() {
    Skewed skewed = new Skewed();
    skewed.shape = Shape.unknown();
    assertEquals(Set.of(Kind.INFERENCE), kinds(skewed, square));
    skewed.shape = Shape.of(4);
    assertEquals(Set.of(Kind.INFERENCE), kinds(skewed, square));
    skewed.shape = Shape.of(3);
    assertEquals(Set.of(), kinds(skewed, square));
  }

  @Test
  void aWrongGradientIsFound() {
    Skewed skewed = new Skewed();
    skewed.gradientOf = "weights0:0";
    assertEquals(Set.of(Kind.GRADIENT), kinds(skewed, square));
  }

  @Test
  void aGradientTensorFlowLacksIsHeldAgainstDifferences() {
    OpCase mod = new OpCase("FloorMod", List.of(Tensor.vector(0.7, -1.3), Tensor.vector(0.5, 0.8)));
    OpConformance conformance = new OpConformance(new MillraceEngine());
    assertEquals(List.of(), conformance.check(mod));
    assertEquals(Set.of(), conformance.gradients().checked(Measure.TENSORFLOW));
    assertEquals(Set.of("FloorMod"), conformance.gradients().checked(Measure.DIFFERENCES));
  }

  @Test
  void failingWhereTensorFlowDoesNotAndTheReverseAreFound() {
    Skewed skewed = new Skewed();
    skewed.error = new MillraceException(Code.INTERNAL, "no");
    assertEquals(Set.of(Kind.ERROR), kinds(skewed, square));
    skewed.error = new MillraceException(Code.UNIMPLEMENTED, "not yet");
    assertEquals(Set.of(Kind.UNSUPPORTED), kinds(skewed, square));
    OpCase bad =
        new OpCase("Neg", List.of(Tensor.vector(1f))).with("T", DType.INT32).fails(Code.NOT_FOUND);
    assertEquals(Set.of(Kind.CASE), kinds(new Skewed(), bad));
  }

  @Test
  void nanIsEqualToNanAndInfinityOnlyToItself() {
    Tensor odd = Tensor.vector(Float.NaN, Float.POSITIVE_INFINITY, -0.0f);
    assertTrue(Closeness.difference(odd, odd, 1).isEmpty());
    Tensor other = Tensor.vector(Float.NaN, Float.NEGATIVE_INFINITY, 0.0f);
    assertTrue(Closeness.difference(odd, other, 1).orElseThrow().startsWith("element 1"));
    assertTrue(
        Closeness.difference(Tensor.vector(1f, 2f), Tensor.vector(1f, Float.NaN), 1).isPresent());
  }

  private static Set<Kind> kinds(Engine engine, OpCase c) {
    return new OpConformance(engine)
        .check(c).stream().map(Finding::kind).collect(Collectors.toSet());
  }

  private static Tensor changed(Tensor t, double factor) {
    Tensor copy = t.copy();
    copy.setDouble(0, copy.doubleAt(0) * factor);
    return copy;
  }

  /** TensorFlow, but wrong in a way that can be set. */
  private static final class Skewed implements Engine {
    private final Engine right = new TensorFlowEngine();
    UnaryOperator<Tensor> value = t -> t;
    Shape shape;
    String gradientOf;
    MillraceException error;

    @Override
    public Loaded load(GraphDef graph) {
      Loaded loaded = right.load(graph);
      return new Loaded() {
        @Override
        public List<Tensor> run(
            Map<String, Tensor> feeds, List<String> fetches, List<String> targets) {
          if (error != null) {
            throw error;
          }
          List<Tensor> values = new ArrayList<>(loaded.run(feeds, fetches, targets));
          values.replaceAll(value);
          return values;
        }

        @Override
        public Shape inferredShape(String output) {
          return shape == null ? loaded.inferredShape(output) : shape;
        }

        @Override
        public Map<String, String> addGradients(List<String> ys, List<String> xs) {
          return gradientOf == null
              ? loaded.addGradients(ys, xs)
              : Map.of(xs.getFirst(), gradientOf);
        }

        @Override
        public void close() {
          loaded.close();
        }
      };
    }
  }
}
