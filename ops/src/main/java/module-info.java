/** The standard ops. */
module dev.millrace.ops {
  requires transitive dev.millrace.graph;
  requires transitive dev.millrace.proto;
  requires dev.millrace.storage;
  requires org.slf4j;

  exports dev.millrace.ops;
  exports dev.millrace.ops.accumulator;
  exports dev.millrace.ops.array;
  exports dev.millrace.ops.collective;
  exports dev.millrace.ops.dataset;
  exports dev.millrace.ops.flow;
  exports dev.millrace.ops.fourier;
  exports dev.millrace.ops.io;
  exports dev.millrace.ops.list;
  exports dev.millrace.ops.lookup;
  exports dev.millrace.ops.math;
  exports dev.millrace.ops.matrix;
  exports dev.millrace.ops.nn;
  exports dev.millrace.ops.queue;
  exports dev.millrace.ops.random;
  exports dev.millrace.ops.scatter;
  exports dev.millrace.ops.space;
  exports dev.millrace.ops.sparse;
  exports dev.millrace.ops.state;
  exports dev.millrace.ops.summary;
  exports dev.millrace.ops.text;
}
