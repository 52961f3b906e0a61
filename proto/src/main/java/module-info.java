/** TensorFlow's messages. */
@SuppressWarnings({
  "requires-automatic",
  "requires-transitive-automatic"
}) // protobuf has no descriptor
module dev.millrace.proto {
  requires transitive com.google.protobuf;

  exports dev.millrace.proto;
  exports dev.millrace.proto.serving;
}
