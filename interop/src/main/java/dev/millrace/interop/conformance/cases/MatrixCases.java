package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.OpCase;
import dev.millrace.interop.conformance.Scenario;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;

/** Diagonals of matrices, one or a band of them. */
public final class MatrixCases extends CaseTable {
  public MatrixCases() {
    op("Diag", doubles(3));
    op("Diag", floats(2, 3));
    op("Diag", doubles(0));
    op("DiagPart", doubles(3, 3));
    op("DiagPart", floats(2, 3, 2, 3));
    op("DiagPart", floats(2, 3)).fails(Code.INVALID_ARGUMENT);
    op("MatrixDiag", doubles(3));
    op("MatrixDiag", floats(2, 3));
    op("MatrixDiagPart", doubles(3, 4));
    op("MatrixDiagPart", floats(2, 4, 3));
    op("MatrixDiagPart", floats(3)).fails(Code.INVALID_ARGUMENT);
    op("MatrixSetDiag", doubles(3, 4), doubles(3));
    op("MatrixSetDiag", floats(2, 4, 3), floats(2, 3));
    op("MatrixSetDiag", floats(3, 4), floats(4)).fails(Code.INVALID_ARGUMENT);
    bands("V2", List.of(""));
    bands("V3", List.of("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"));
  }

  private void bands(String v, List<String> alignments) {
    Tensor least = scalar(-1);
    for (String align : alignments) {
      for (DType dtype : List.of(DType.DOUBLE, DType.FLOAT)) {
        Tensor padding = any(dtype);
        for (int[] k : new int[][] {{0}, {2}, {-1}, {-1, 1}, {0, 2}, {-2, -1}, {-2, 3}}) {
          OpCase part = op("MatrixDiagPart" + v, any(dtype, 2, 3, 4), ints(k), padding).fixed(1);
          aligned(part, align);
          int longest = Math.min(3 + Math.min(k[k.length - 1], 0), 4 - Math.max(k[0], 0));
          Tensor packed =
              k.length == 1 ? any(dtype, 2, longest) : any(dtype, 2, k[1] - k[0] + 1, longest);
          if (k.length == 1) {
            aligned(op("MatrixSetDiag" + v, any(dtype, 2, 3, 4), packed, ints(k)), align);
          } else {
            setBand("MatrixSetDiag" + v, any(dtype, 2, 3, 4), packed, ints(k), align);
          }
          aligned(op("MatrixDiag" + v, packed, ints(k), scalar(3), scalar(4), padding), align);
        }
        aligned(
            op("MatrixDiag" + v, any(dtype, 3), scalar(1), least, least, padding).fixed(1, 2, 3),
            align);
      }
    }
    Tensor two = ints(1, -1);
    op("MatrixDiagPart" + v, floats(3, 3), two, floats()).fails(Code.INVALID_ARGUMENT);
    op("MatrixDiagPart" + v, floats(3, 3), ints(3), floats()).fails(Code.INVALID_ARGUMENT);
    op("MatrixSetDiag" + v, floats(3, 3), floats(3), ints(1)).fails(Code.INVALID_ARGUMENT);
    op("MatrixDiag" + v, floats(3), ints(0), scalar(2), least, floats())
        .fails(Code.INVALID_ARGUMENT);
  }

  /** As a scenario: TensorFlow infers shapes wrongly where it knows no more than ranks. */
  private void setBand(String op, Tensor matrices, Tensor packed, Tensor k, String align) {
    Scenario s = scenario(op + " of " + matrices.dtype() + " " + k + " " + align);
    s.graph().constant("matrices", matrices);
    s.graph().constant("packed", packed);
    s.graph().constant("k", k);
    Map<String, String> attributes = align.isEmpty() ? Map.of() : Map.of("align", align);
    s.graph().add("set", op, attributes, "matrices", "packed", "k");
    s.fetch("set");
  }

  private static void aligned(OpCase c, String align) {
    if (!align.isEmpty()) {
      c.with("align", align);
    }
  }
}
