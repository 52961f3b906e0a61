/**
 * Tensors in native memory and the loops over them. The Vector API is optional: without the module
 * plain loops do the same.
 */
@SuppressWarnings("module") // those it exports engine packages to stand above it
module dev.millrace.tensor {
  requires static jdk.incubator.vector;
  requires transitive dev.millrace.base;
  requires org.slf4j;

  exports dev.millrace.tensor;
  exports dev.millrace.tensor.math to
      dev.millrace.cluster,
      dev.millrace.ops;
  exports dev.millrace.tensor.math.complex to
      dev.millrace.ops;
  exports dev.millrace.tensor.math.conv to
      dev.millrace.ops;
  exports dev.millrace.tensor.math.elementwise to
      dev.millrace.ops;
  exports dev.millrace.tensor.math.gemm to
      dev.millrace.ops;
  exports dev.millrace.tensor.math.onednn to
      dev.millrace.cli;
  exports dev.millrace.tensor.math.linear to
      dev.millrace.ops;
  exports dev.millrace.tensor.math.random to
      dev.millrace.ops;
  exports dev.millrace.tensor.math.reduce to
      dev.millrace.ops;
  exports dev.millrace.tensor.math.special to
      dev.millrace.ops;
  exports dev.millrace.tensor.math.update to
      dev.millrace.ops;
}
