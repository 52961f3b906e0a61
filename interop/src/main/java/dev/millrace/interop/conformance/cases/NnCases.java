package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.interop.conformance.Values.Domain;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/** Biases, softmax and its losses, normalisation. */
public final class NnCases extends CaseTable {
  public NnCases() {
    bias();
    softmax();
    crossEntropy();
    sparseCrossEntropy();
    batchNorm();
    batchNormGradients();
    localResponse();
  }

  private void bias() {
    op("BiasAdd", floats(5, 3), floats(3));
    op("BiasAdd", floats(2, 4, 4, 3), floats(3));
    op("BiasAdd", floats(2, 3, 4, 4), floats(3)).with("data_format", "NCHW");
    op("BiasAdd", floats(0, 3), floats(3));
    op("BiasAdd", floats(5, 3), floats(4)).fails(Code.INVALID_ARGUMENT);
    op("BiasAdd", floats(5, 3), floats(3, 1)).fails(Code.INVALID_ARGUMENT);
    op("BiasAddGrad", floats(5, 3)).noGradient();
    op("BiasAddGrad", floats(2, 4, 4, 3)).noGradient().slack(4);
    op("BiasAddGrad", floats(2, 3, 4, 4)).with("data_format", "NCHW").noGradient().slack(4);
    op("BiasAddGrad", floats(0, 3)).noGradient();
    for (DType dtype : Kernels.types("BiasAdd", "T")) {
      op("BiasAdd", any(dtype, 4, 3), any(dtype, 3));
    }
    for (DType dtype : Kernels.types("BiasAddGrad", "T")) {
      op("BiasAddGrad", any(dtype, 4, 3)).noGradient();
    }
  }

  private void softmax() {
    for (String op : List.of("Softmax", "LogSoftmax")) {
      op(op, floats(5, 10)).slack(4);
      // TensorFlow's gradient in C++ is right for two dimensions only.
      op(op, doubles(7)).slack(4).gradientByDifferences();
      op(op, doubles(2, 3, 9)).slack(4).gradientByDifferences();
      op(op, floats(0, 10));
      op(op, Tensor.of(Shape.of(1, 3), 1000f, 0f, -1000f)).slack(4).noGradient();
      op(op, Tensor.of(Shape.of(1, 3), Float.NEGATIVE_INFINITY, 0f, 1f)).slack(4).noGradient();
      for (DType dtype : Kernels.types(op, "T")) {
        op(op, any(dtype, 4, 6)).slack(4);
      }
    }
  }

  private void crossEntropy() {
    String op = "SoftmaxCrossEntropyWithLogits";
    for (DType dtype : Kernels.types(op, "T")) {
      op(op, any(dtype, 5, 10), values.distributions(dtype, 5, 10)).noGradientBy(1).slack(4);
    }
    op(op, floats(100, 10), values.distributions(DType.FLOAT, 100, 10)).noGradient().slack(4);
    op(op, floats(5, 10), values.distributions(DType.FLOAT, 1, 10)).noGradient().slack(4);
    op(op, floats(0, 10), values.distributions(DType.FLOAT, 0, 10)).noGradient();
    op(op, floats(5, 10), floats(5, 9)).fails(Code.INVALID_ARGUMENT);
  }

  private void sparseCrossEntropy() {
    String op = "SparseSoftmaxCrossEntropyWithLogits";
    for (DType dtype : Kernels.types(op, "T")) {
      // TensorFlow takes the logarithm of a half near 1 in half itself, Millrace in float.
      double slack = dtype.bytes() == 2 ? 32 : 4;
      op(op, any(dtype, 5, 10), values.between(DType.INT64, 0, 10, 5)).noGradient().slack(slack);
      op(op, any(dtype, 5, 10), values.between(DType.INT32, 0, 10, 5)).noGradient().slack(slack);
    }
    op(op, doubles(3, 4), ints(3, 0, 1)).unchecked(1).slack(4);
    op(op, floats(100, 10), values.between(DType.INT64, 0, 10, 100)).noGradient().slack(4);
    op(op, floats(0, 10), ints()).noGradient();
    op(op, floats(2, 3), ints(0, 3)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(2, 3), ints(0)).fails(Code.INVALID_ARGUMENT);
    op(op, floats(2, 0), ints(0, 0)).fails(Code.INVALID_ARGUMENT);
  }

  private void batchNorm() {
    for (String version : List.of("", "V2", "V3")) {
      String op = "FusedBatchNorm" + version;
      int[] reserved = version.equals("V3") ? new int[] {3, 4, 5} : new int[] {3, 4};
      for (String format : List.of("NHWC", "NCHW")) {
        boolean last = format.equals("NHWC");
        Tensor x = last ? floats(4, 3, 3, 5) : floats(4, 5, 3, 3);
        Tensor scale = values.of(Domain.POSITIVE, DType.FLOAT, Shape.of(5));
        // In training the statistics are those of the batch; none are given.
        op(op, x, scale, floats(5), floats(0), floats(0))
            .with("data_format", format)
            .unchecked(reserved)
            .noGradient()
            .slack(16);
        op(op, x, scale, floats(5), floats(5), values.of(Domain.POSITIVE, DType.FLOAT, Shape.of(5)))
            .with("data_format", format)
            .with("is_training", false)
            .unchecked(reserved)
            .noGradient()
            .slack(16);
      }
      op(op, floats(4, 3, 3, 5), floats(4), floats(5), floats(0), floats(0))
          .fails(Code.INVALID_ARGUMENT);
    }
    Tensor x = floats(4, 2, 2, 3);
    Tensor scale = values.of(Domain.POSITIVE, DType.FLOAT, Shape.of(3));
    op("FusedBatchNormV3", x, scale, floats(3), floats(3), scale)
        .with("exponential_avg_factor", 0.25f)
        .with("epsilon", 0.01f)
        .unchecked(3, 4, 5)
        .noGradient()
        .slack(16);
    for (String version : List.of("", "V2", "V3")) {
      String op = "FusedBatchNorm" + version;
      int[] others = version.equals("V3") ? new int[] {1, 2, 3, 4, 5} : new int[] {1, 2, 3, 4};
      op(op, x, scale, floats(3), floats(3), scale)
          .with("is_training", false)
          .unchecked(others)
          .noGradientBy(3, 4)
          .slack(64);
      op(op, x, scale, floats(3), floats(0), floats(0))
          .unchecked(others)
          .noGradientBy(3, 4)
          .slack(64);
    }
  }

  private void batchNormGradients() {
    for (String version : List.of("", "V2", "V3")) {
      for (boolean training : List.of(true, false)) {
        for (String format : List.of("NHWC", "NCHW")) {
          long[] dims = format.equals("NHWC") ? new long[] {4, 3, 3, 5} : new long[] {4, 5, 3, 3};
          Tensor variance = values.of(Domain.POSITIVE, DType.FLOAT, Shape.of(5));
          List<Tensor> inputs =
              new ArrayList<>(List.of(floats(dims), floats(dims), floats(5), floats(5), variance));
          if (version.equals("V3")) {
            inputs.add(floats(0));
          }
          op("FusedBatchNormGrad" + version, inputs.toArray(Tensor[]::new))
              .with("is_training", training)
              .with("data_format", format)
              .unchecked(3, 4)
              .noGradient()
              .slack(64);
        }
      }
    }
  }

  private void localResponse() {
    op("LRN", floats(2, 3, 3, 7)).slack(8);
    // TensorFlow's gradient in C++ forgets the attributes.
    op("LRN", floats(1, 2, 2, 12))
        .with("depth_radius", 2)
        .with("bias", 2f)
        .with("alpha", 0.5f)
        .with("beta", 0.75f)
        .slack(16)
        .gradientByDifferences();
    op("LRN", floats(3, 3)).fails(Code.INVALID_ARGUMENT);
    op("LRNGrad", floats(2, 3, 3, 7), floats(2, 3, 3, 7), floats(2, 3, 3, 7))
        .noGradient()
        .slack(16);
  }
}
