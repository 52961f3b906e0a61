/** Predictions of SavedModels, in a program and over the network. */
@SuppressWarnings("requires-automatic") // gRPC has a name but no descriptor
module dev.millrace.serving {
  requires transitive dev.millrace.ops;
  requires transitive dev.millrace.runtime;
  requires dev.millrace.cluster;
  requires dev.millrace.storage;
  requires dev.millrace.wire;
  requires transitive com.fasterxml.jackson.core;
  requires io.grpc;
  requires io.grpc.netty.shaded;
  requires io.grpc.stub;
  requires org.slf4j;

  exports dev.millrace.serving;
  exports dev.millrace.serving.batch;
  exports dev.millrace.serving.model;
  exports dev.millrace.serving.rest;
  exports dev.millrace.serving.served;
  exports dev.millrace.serving.server;
}
