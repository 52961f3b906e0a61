/** Training: variables, layers, optimizers, sessions with hooks, checkpoints, input. */
@SuppressWarnings("requires-automatic") // aircompressor has no descriptor.
module dev.millrace.train {
  requires transitive dev.millrace.ops;
  requires transitive dev.millrace.runtime;
  requires transitive dev.millrace.storage;
  requires transitive dev.millrace.wire;
  requires aircompressor.v3;
  requires java.desktop;
  requires transitive java.sql;
  requires jdk.unsupported; // signals
  requires org.slf4j;

  exports dev.millrace.train;
  exports dev.millrace.train.checkpoint;
  exports dev.millrace.train.data;
  exports dev.millrace.train.data.arrow;
  exports dev.millrace.train.data.bucket;
  exports dev.millrace.train.data.cache;
  exports dev.millrace.train.data.column;
  exports dev.millrace.train.data.csv;
  exports dev.millrace.train.data.file;
  exports dev.millrace.train.data.image;
  exports dev.millrace.train.data.jdbc;
  exports dev.millrace.train.data.record;
  exports dev.millrace.train.feature;
  exports dev.millrace.train.graph;
  exports dev.millrace.train.hook;
  exports dev.millrace.train.job;
  exports dev.millrace.train.layers;
  exports dev.millrace.train.metric;
  exports dev.millrace.train.optimizer;
  exports dev.millrace.train.session;
  exports dev.millrace.train.sync;
  exports dev.millrace.train.variable;
}
