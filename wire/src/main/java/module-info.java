/** Codecs between TensorFlow's messages and Millrace's types. */
module dev.millrace.wire {
  requires static org.jspecify;
  requires transitive dev.millrace.graph;
  requires transitive dev.millrace.proto;
  requires java.management;
  requires jdk.management;

  exports dev.millrace.wire;
}
