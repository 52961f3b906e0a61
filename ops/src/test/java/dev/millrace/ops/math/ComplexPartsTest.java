package dev.millrace.ops.math;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.gradient.Gradients;
import dev.millrace.ops.Evaluator;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ComplexPartsTest {
  private final Scope s = Scope.of(StandardOps.newGraph());
  private final Output re = Const.of(s, Tensor.vector(3.0, -5.0));
  private final Output im = Const.of(s, Tensor.vector(4.0, 12.0));
  private final Output z =
      s.node("Complex").input(re).input(im).attr("Tout", DType.COMPLEX128).add().output();

  private Output part(String op, Output of) {
    return s.node(op).input(of).attr("Tout", DType.DOUBLE).add().output();
  }

  private void is(Output y, double... expected) {
    assertArrayEquals(expected, Evaluator.run(y, Map.of()).toDoubles(), 1e-14);
  }

  @Test
  void thePartsOfANumberAreWhatItWasMadeOf() {
    is(part("Real", z), 3, -5);
    is(part("Imag", z), 4, 12);
  }

  @Test
  void aNumberHasALengthAndADirection() {
    is(part("ComplexAbs", z), 5, 13);
    is(part("Angle", z), Math.atan2(4, 3), Math.atan2(12, -5));
  }

  @Test
  void theConjugateHasTheOtherImaginaryPart() {
    Output conj = s.node("Conj").input(z).add().output();
    is(part("Real", conj), 3, -5);
    is(part("Imag", conj), -4, -12);
  }

  @Test
  void aConjugateTransposeIsBoth() {
    Output row = s.node("Reshape").input(z).input(Const.ints(s, 1, 2)).add().output();
    Output turned =
        s.node("ConjugateTranspose").input(row).input(Const.ints(s, 1, 0)).add().output();
    assertEquals(Shape.of(2, 1), turned.shape());
    is(part("Real", turned), 3, -5);
    is(part("Imag", turned), -4, -12);
  }

  @Test
  void theLengthGrowsWithEachPartByItsShare() {
    Output length = part("ComplexAbs", z);
    var slopes = Gradients.of(s, List.of(length), List.of(re, im));
    is(Gradients.dense(s, slopes.get(0)), 3 / 5.0, -5 / 13.0);
    is(Gradients.dense(s, slopes.get(1)), 4 / 5.0, 12 / 13.0);
  }
}
