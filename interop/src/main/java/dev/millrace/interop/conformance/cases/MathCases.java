package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.interop.conformance.Values;
import dev.millrace.interop.conformance.Values.Domain;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Products of matrices, reductions, sums of many, and what else is mathematics. */
public final class MathCases extends CaseTable {
  public MathCases() {
    matMul();
    fusedMatMul();
    batchMatMul("BatchMatMul");
    batchMatMul("BatchMatMulV2");
    broadcastBatches();
    for (String op : List.of("Sum", "Mean", "Max", "Min", "Prod")) {
      reduction(op);
    }
    for (String op : List.of("All", "Any")) {
      op(op, any(DType.BOOL, 3, 4), ints(0)).fixed(1);
      op(op, any(DType.BOOL, 3, 4), ints(0, 1)).fixed(1).with("keep_dims", true);
      op(op, any(DType.BOOL, 0), ints(0)).fixed(1);
    }
    argExtremes();
    addN();
    clip();
    ranges();
    for (DType dtype : Kernels.types("Bucketize", "T")) {
      op("Bucketize", any(dtype, 4, 5)).with("boundaries", List.of(-1f, 0f, 0.5f, 0.5f, 2f));
    }
    op("Bucketize", floats(3)).with("boundaries", List.of(1f, 0f)).fails(Code.INVALID_ARGUMENT);
    for (DType dtype : Kernels.types("L2Loss", "T")) {
      op("L2Loss", any(dtype, 5, 7)).slack(2);
    }
    op("L2Loss", floats(0));
    op("L2Loss", floats());
    for (String op : List.of("Cumsum", "Cumprod")) {
      for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE, DType.INT32)) {
        op(op, values.of(Domain.NONZERO, dtype, Shape.of(3, 5)), scalar(1)).fixed(1).slack(4);
        op(op, values.of(Domain.NONZERO, dtype, Shape.of(3, 5)), scalar(-2))
            .fixed(1)
            .with("exclusive", true)
            .with("reverse", true)
            .slack(4);
      }
      op(op, floats(3), scalar(1)).fails(Code.INVALID_ARGUMENT);
    }
  }

  private void matMul() {
    int[][] sizes = {{1, 1, 1}, {2, 3, 4}, {7, 33, 5}, {1, 20, 17}, {100, 31, 10}, {65, 64, 66}};
    for (int[] s : sizes) {
      for (int t = 0; t < 4; t++) {
        boolean ta = (t & 1) != 0;
        boolean tb = (t & 2) != 0;
        Tensor a = ta ? floats(s[1], s[0]) : floats(s[0], s[1]);
        Tensor b = tb ? floats(s[2], s[1]) : floats(s[1], s[2]);
        op("MatMul", a, b).with("transpose_a", ta).with("transpose_b", tb).slack(4);
      }
    }
    for (DType dtype : Kernels.types("MatMul", "T")) {
      op("MatMul", any(dtype, 5, 6), any(dtype, 6, 7)).slack(4);
    }
    op("MatMul", floats(0, 3), floats(3, 2));
    op("MatMul", floats(2, 0), floats(0, 3));
    op("MatMul", floats(2, 3), floats(4, 2)).fails(Code.INVALID_ARGUMENT);
    op("MatMul", floats(3), floats(3, 2)).fails(Code.INVALID_ARGUMENT);
  }

  /** What TensorFlow's master makes of a product, a bias and an activation. */
  private void fusedMatMul() {
    for (String activation : List.of("", "Relu", "Relu6", "Elu", "Tanh", "Sigmoid")) {
      List<String> fused =
          activation.isEmpty() ? List.of("BiasAdd") : List.of("BiasAdd", activation);
      op("_FusedMatMul", floats(5, 7), floats(7, 3), floats(3))
          .with("num_args", 1)
          .with("fused_ops", fused)
          .slack(8)
          .noGradient();
    }
    op("_FusedMatMul", floats(7, 5), floats(3, 7), floats(3))
        .with("num_args", 1)
        .with("fused_ops", List.of("BiasAdd"))
        .with("transpose_a", true)
        .with("transpose_b", true)
        .slack(8)
        .noGradient();
  }

  private void batchMatMul(String op) {
    for (int t = 0; t < 4; t++) {
      boolean ax = (t & 1) != 0;
      boolean ay = (t & 2) != 0;
      Tensor x = ax ? floats(2, 3, 5, 4) : floats(2, 3, 4, 5);
      Tensor y = ay ? floats(2, 3, 6, 5) : floats(2, 3, 5, 6);
      op(op, x, y).with("adj_x", ax).with("adj_y", ay).slack(4);
    }
    for (DType dtype : Kernels.types(op, "T")) {
      op(op, any(dtype, 2, 3, 4), any(dtype, 2, 4, 3)).slack(4);
    }
    op(op, floats(3, 4), floats(4, 2)).slack(4);
    op(op, floats(0, 3, 4), floats(0, 4, 2));
    op(op, floats(2, 3, 0), floats(2, 0, 2));
    op(op, floats(2, 3, 4), floats(2, 5, 2)).fails(Code.INVALID_ARGUMENT);
  }

  private void broadcastBatches() {
    op("BatchMatMulV2", floats(5, 3, 4), floats(4, 2)).slack(4);
    op("BatchMatMulV2", floats(3, 4), floats(2, 4, 2)).slack(4);
    op("BatchMatMulV2", floats(2, 1, 3, 4), floats(5, 4, 2)).slack(4);
    op("BatchMatMulV2", floats(2, 3, 4), floats(3, 4, 2)).fails(Code.INVALID_ARGUMENT);
    op("BatchMatMul", floats(1, 3, 4), floats(2, 4, 2)).fails(Code.INVALID_ARGUMENT);
  }

  private void reduction(String op) {
    Domain domain = op.startsWith("M") && !op.equals("Mean") ? Domain.DISTINCT : Domain.NONZERO;
    int[][] axes = {{}, {0}, {1}, {2}, {-1}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}, {-3, 2}};
    for (int[] a : axes) {
      op(op, values.of(domain, DType.FLOAT, Shape.of(3, 4, 5)), ints(a)).fixed(1).slack(4);
    }
    op(op, values.of(domain, DType.FLOAT, Shape.of(3, 4)), scalar(1)).fixed(1);
    op(op, values.of(domain, DType.FLOAT, Shape.of(3, 4)), longs(0))
        .fixed(1)
        .with("keep_dims", true);
    op(op, values.of(domain, DType.FLOAT, Shape.of(3, 4)), ints(0, 1))
        .fixed(1)
        .with("keep_dims", true);
    op(op, values.of(domain, DType.FLOAT, Shape.of(70, 33)), ints(0)).fixed(1).slack(8);
    op(op, values.of(domain, DType.FLOAT, Shape.of(33, 70)), ints(1)).fixed(1).slack(8);
    op(op, values.of(domain, DType.FLOAT, Shape.scalar()), ints()).fixed(1);
    op(op, floats(0, 3), ints(0)).fixed(1).noGradient();
    op(op, floats(0, 3), ints(1)).fixed(1).noGradient();
    op(op, values.of(Domain.SPECIAL, DType.FLOAT, Shape.of(40, 3)), ints(1)).fixed(1).noGradient();
    for (DType dtype : Kernels.types(op, "T")) {
      op(op, values.of(domain, dtype, Shape.of(3, 4)), ints(1)).fixed(1).slack(4);
    }
    op(op, floats(3, 4), ints(2)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(3, 4), ints(-3)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(3, 4), ints(0, 0)).fails(Code.INVALID_ARGUMENT);
  }

  private void argExtremes() {
    for (String op : List.of("ArgMax", "ArgMin")) {
      for (DType dtype : Kernels.types(op, "T")) {
        op(op, any(dtype, 5, 7), scalar(1)).fixed(1);
      }
      // Ties, where the first wins.
      op(op, values.between(DType.INT32, 0, 3, 6, 9), scalar(0)).fixed(1);
      op(op, floats(2, 3, 4), scalar(-2)).fixed(1).with("output_type", DType.INT32);
      op(op, floats(5), scalar(0)).fixed(1);
      op(op, floats(3), scalar(1)).fails(Code.INVALID_ARGUMENT);
      op(op, floats(3, 0), scalar(1)).fails(Code.INVALID_ARGUMENT);
    }
  }

  private void addN() {
    op("AddN", floats(3, 4));
    op("AddN", floats(3, 4), floats(3, 4), floats(3, 4));
    op("AddN", floats(), floats());
    op("AddN", floats(0), floats(0));
    for (DType dtype : Kernels.types("AddN", "T")) {
      op("AddN", any(dtype, 5), any(dtype, 5), any(dtype, 5));
    }
    op("AccumulateNV2", floats(3, 4), floats(3, 4)).with("shape", Shape.of(3, 4)).noGradient();
    op("AddN", floats(3), floats(4)).fails(Code.INVALID_ARGUMENT);
  }

  private void clip() {
    for (DType dtype : Kernels.types("ClipByValue", "T")) {
      op("ClipByValue", any(dtype, 4, 5), scalar(dtype, 1), scalar(dtype, 2)).noGradientBy(1, 2);
    }
    op(
            "ClipByValue",
            floats(2, 3),
            Values.filled(DType.FLOAT, -1, 2, 3),
            Values.filled(DType.FLOAT, 1, 2, 3))
        .noGradient();
  }

  private void ranges() {
    op("Range", scalar(0), scalar(5), scalar(1)).fixed(0, 1, 2);
    op("Range", scalar(7), scalar(-3), scalar(-3)).fixed(0, 1, 2);
    op("Range", scalar(5), scalar(5), scalar(2)).fixed(0, 1, 2);
    op("Range", Tensor.scalar(0.5), Tensor.scalar(2.0), Tensor.scalar(0.25)).fixed(0, 1, 2);
    op("Range", Tensor.scalar(2L), Tensor.scalar(9L), Tensor.scalar(3L)).fixed(0, 1, 2);
    op("Range", Tensor.scalar(0f), Tensor.scalar(1f), Tensor.scalar(0.1f)).fixed(0, 1, 2);
    op("Range", scalar(0), scalar(5), scalar(0)).fails(Code.INVALID_ARGUMENT);
    op("Range", scalar(0), scalar(-5), scalar(1)).fails(Code.INVALID_ARGUMENT);
    op("LinSpace", Tensor.scalar(1f), Tensor.scalar(2f), scalar(5)).fixed(0, 1, 2);
    op("LinSpace", Tensor.scalar(-1.0), Tensor.scalar(3.0), Tensor.scalar(7L)).fixed(0, 1, 2);
    op("LinSpace", Tensor.scalar(4f), Tensor.scalar(9f), scalar(1)).fixed(0, 1, 2);
    op("LinSpace", Tensor.scalar(4f), Tensor.scalar(9f), scalar(0)).fails(Code.INVALID_ARGUMENT);
  }
}
