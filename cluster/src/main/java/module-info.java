/** Servers, masters, workers and sessions over many tasks. */
@SuppressWarnings({
  "module", // those it exports engine packages to stand above it
  "requires-automatic" // gRPC and Guava have names but no descriptors
})
module dev.millrace.cluster {
  requires transitive dev.millrace.net;
  requires transitive dev.millrace.proto;
  requires transitive dev.millrace.runtime;
  requires dev.millrace.collective;
  requires dev.millrace.wire;
  requires com.fasterxml.jackson.jr.ob;
  requires com.google.common;
  requires io.grpc;
  requires io.grpc.netty.shaded;
  requires io.grpc.stub;
  requires java.logging;
  requires java.management;
  requires org.slf4j;

  exports dev.millrace.cluster;
  exports dev.millrace.cluster.spec;
  exports dev.millrace.cluster.http2 to
      dev.millrace.serving;
  exports dev.millrace.cluster.transport to
      dev.millrace.cli,
      dev.millrace.dashboard,
      dev.millrace.serving;
}
