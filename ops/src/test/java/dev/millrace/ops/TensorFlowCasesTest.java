package dev.millrace.ops;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Grad;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.ops.array.ArrayOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.ops.math.MathOps;
import dev.millrace.ops.sparse.SparseOps;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Each op does what TensorFlow did: the same values and shapes, the same gradients, an error where
 * it had one. Every case is built four times, for inputs that are constant, of known shape, of
 * known rank, and of which only the type is known.
 */
class TensorFlowCasesTest {
  private enum Knowledge {
    CONSTANT,
    SHAPE,
    RANK,
    TYPE
  }

  /** The ops whose result has a size that depends on values. */
  private static final Set<String> SIZED_BY_VALUES =
      Set.of(
          "ArgMax",
          "ArgMin",
          "BroadcastGradientArgs",
          "ComputeAccidentalHits",
          "DenseToDenseSetOperation",
          "DenseToSparseSetOperation",
          "DeserializeManySparse",
          "DeserializeSparse",
          "DynamicPartition",
          "ListDiff",
          "NonMaxSuppression",
          "NonMaxSuppressionV2",
          "NonMaxSuppressionV3",
          "SegmentMax",
          "SegmentMean",
          "SegmentMin",
          "SegmentProd",
          "SegmentSum",
          "SerializeManySparse",
          "SetSize",
          "SparseAdd",
          "SparseCross",
          "SparseCrossHashed",
          "SparseCrossV2",
          "SparseFillEmptyRows",
          "SparseSegmentMean",
          "SparseSegmentMeanGradV2",
          "SparseSegmentSqrtN",
          "SparseSegmentSqrtNGradV2",
          "SparseSegmentSum",
          "SparseSegmentSumGradV2",
          "SparseSlice",
          "SparseSplit",
          "SparseToSparseSetOperation",
          "Unique",
          "UniqueV2",
          "UniqueWithCounts",
          "UniqueWithCountsV2",
          "Where");

  @TestFactory
  Stream<DynamicTest> cases() throws IOException {
    Map<String, List<TensorFlowCase>> byOp =
        TensorFlowCase.all().stream()
            .collect(Collectors.groupingBy(c -> c.op, TreeMap::new, Collectors.toList()));
    return byOp.entrySet().stream()
        .map(e -> dynamicTest(e.getKey(), () -> e.getValue().forEach(this::check)));
  }

  @Test
  void everyArrayMathAndSparseOpHasACase() throws IOException {
    Set<String> without = new TreeSet<>();
    Stream.of(ArrayOps.ALL, MathOps.ALL, SparseOps.ALL)
        .flatMap(List::stream)
        .map(Op::name)
        .forEach(without::add);
    TensorFlowCase.all().forEach(c -> without.remove(c.op));
    // Checked elsewhere: they have no inputs, no outputs, keep something from one step to the next,
    // exist inside the runtime only, or are of complex numbers, which the cases cannot spell.
    without.removeAll(
        Set.of(
            "Abort",
            "AddManySparseToTensorsMap",
            "AddSparseToTensorsMap",
            "Angle",
            "Assert",
            "Complex",
            "ComplexAbs",
            "Conj",
            "ConjugateTranspose",
            "Const",
            "ControlTrigger",
            "Identity",
            "Imag",
            "NoOp",
            "Placeholder",
            "PlaceholderV2",
            "PlaceholderWithDefault",
            "PreventGradient",
            "Print",
            "PrintV2",
            "Real",
            "Snapshot",
            "TakeManySparseFromTensorsMap",
            "_HostCast"));
    assertEquals(Set.of(), without);
  }

  private void check(TensorFlowCase c) {
    for (Knowledge k : Knowledge.values()) {
      if (c.isError) {
        assertThrows(MillraceException.class, () -> new Built(c, k).run(), c + ", " + k);
      } else {
        Built b = new Built(c, k);
        b.run();
        b.checkGradients();
      }
    }
  }

  /** A case in a graph. */
  private static final class Built {
    private final TensorFlowCase c;
    private final String where;
    private final Scope scope = Scope.of(StandardOps.newGraph());
    private final List<Output> inputs = new ArrayList<>();
    private final Map<Output, Tensor> feeds = new HashMap<>();
    private final Knowledge knowledge;
    private final Node node;

    Built(TensorFlowCase c, Knowledge knowledge) {
      this.c = c;
      this.where = c + ", " + knowledge;
      this.knowledge = knowledge;
      for (Tensor t : c.inputs) {
        Output in =
            switch (knowledge) {
              case CONSTANT -> Const.of(scope, t);
              case SHAPE -> Placeholder.of(scope, t.dtype(), t.shape());
              case RANK -> Placeholder.of(scope, t.dtype(), Shape.unknownOfRank(t.shape().rank()));
              case TYPE -> Placeholder.of(scope, t.dtype(), Shape.unknown());
            };
        inputs.add(in);
        feeds.put(in, t);
      }
      this.node = c.add(scope, inputs);
    }

    void run() {
      for (int i = 0; i < c.outputs.size(); i++) {
        Output out = node.output(i);
        close(c.outputs.get(i), Evaluator.run(out, feeds), 1, where + ", output " + i);
        if (knowledge == Knowledge.CONSTANT && !SIZED_BY_VALUES.contains(c.op)) {
          assertEquals(c.outputs.get(i).shape(), out.shape(), where + ", inferred shape");
        }
      }
      if (c.isError) {
        Evaluator.run(node.output(0), feeds);
      }
    }

    void checkGradients() {
      if (c.outputGradients.isEmpty() && !c.hasNoGradient) {
        return;
      }
      List<Output> xs = floating(inputs);
      if (c.hasNoGradient) {
        assertThrows(
            MillraceException.class,
            () -> Gradients.of(scope, floating(node.outputs()), xs),
            where);
        return;
      }
      List<Output> ys = new ArrayList<>();
      for (Output y : floating(node.outputs())) {
        Output dy = Const.of(scope, c.outputGradients.get(ys.size()));
        ys.add(Arithmetic.mul(scope, y, dy));
      }
      List<Grad> grads = Gradients.of(scope, ys, xs);
      for (int i = 0; i < xs.size(); i++) {
        Tensor expected = c.inputGradients.get(i);
        if (grads.get(i) instanceof Grad.None) {
          assertTrue(expected == null || isZero(expected), where + ", no gradient " + i);
        } else if (expected != null) {
          // Where TensorFlow has none, such as by what PadV2 fills in, interop knows the slope.
          Tensor dx = Evaluator.run(Gradients.dense(scope, grads.get(i)), feeds);
          close(expected, dx, 20, where + ", gradient " + i);
        }
      }
    }

    private static List<Output> floating(List<Output> list) {
      return list.stream()
          .filter(o -> o.dtype() == DType.FLOAT || o.dtype() == DType.DOUBLE)
          .toList();
    }

    private static boolean isZero(Tensor t) {
      for (double v : t.toDoubles()) {
        if (v != 0) {
          return false;
        }
      }
      return true;
    }
  }

  /** To some units in the last place, or so many times more; exact where not floating. */
  private static void close(Tensor expected, Tensor actual, double times, String where) {
    assertEquals(expected.dtype(), actual.dtype(), where);
    assertEquals(expected.shape(), actual.shape(), where);
    double unit =
        switch (expected.dtype()) {
          case FLOAT -> 2e-6;
          case DOUBLE -> 1e-12;
          case HALF -> 2e-3;
          case BFLOAT16 -> 1.6e-2;
          default -> 0;
        };
    for (long i = 0; i < expected.elements(); i++) {
      String at = where + " at " + i;
      if (expected.dtype() == DType.STRING) {
        assertArrayEquals(expected.bytesAt(i), actual.bytesAt(i), at);
      } else if (unit == 0) {
        assertEquals(expected.longAt(i), actual.longAt(i), at);
      } else {
        double e = expected.doubleAt(i);
        double tolerance = times * unit * Math.max(Math.abs(e), 0.5);
        assertEquals(e, actual.doubleAt(i), Double.isFinite(tolerance) ? tolerance : 0.5, at);
      }
    }
  }
}
