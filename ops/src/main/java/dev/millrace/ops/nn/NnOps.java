package dev.millrace.ops.nn;

import dev.millrace.graph.Fusion;
import dev.millrace.graph.Op;
import java.util.List;

/** The ops of this package. */
public final class NnOps {
  public static final List<Op> ALL =
      List.of(
          Activations.RELU,
          Activations.RELU_GRAD,
          Activations.RELU6,
          Activations.RELU6_GRAD,
          Activations.ELU,
          Activations.ELU_GRAD,
          Activations.SELU,
          Activations.SELU_GRAD,
          Activations.SOFTPLUS,
          Activations.SOFTPLUS_GRAD,
          Activations.SOFTSIGN,
          Activations.SOFTSIGN_GRAD,
          LeakyRelu.OP,
          LeakyRelu.GRAD,
          FusedBatchNorm.V1,
          FusedBatchNorm.V2,
          FusedBatchNorm.V3,
          FusedBatchNorm.GRAD_V1,
          FusedBatchNorm.GRAD_V2,
          FusedBatchNorm.GRAD_V3,
          ConvolutionOps.OP,
          ConvolutionOps.BACKPROP_INPUT,
          ConvolutionOps.BACKPROP_FILTER,
          Depthwise.OP,
          Depthwise.BACKPROP_INPUT,
          Depthwise.BACKPROP_FILTER,
          Pool.MAX,
          Pool.MAX_GRAD,
          Pool.MAX_GRAD_GRAD,
          Pool.AVERAGE,
          Pool.AVERAGE_GRAD,
          Lrn.OP,
          Lrn.GRAD,
          BiasAdd.OP,
          BiasAdd.GRAD,
          FusedMatMul.OP,
          SoftmaxOps.SOFTMAX,
          SoftmaxOps.LOG_SOFTMAX,
          CrossEntropy.DENSE,
          CrossEntropy.SPARSE);

  /** Groups of these ops that are run as one. */
  public static final List<Fusion> FUSIONS =
      List.of(
          ConvolutionLayer::match,
          ConvolutionLayer::matchGradient,
          FusedConvolution::match,
          FusedMatMul::match,
          Pool::matchGradientOfRelu);

  private NnOps() {}
}
