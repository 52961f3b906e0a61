/** TensorFlow's files: records, events, checkpoints. */
module dev.millrace.storage {
  requires static org.jspecify;
  requires transitive dev.millrace.proto;
  requires transitive dev.millrace.tensor;

  exports dev.millrace.storage;
  exports dev.millrace.storage.array;
  exports dev.millrace.storage.checkpoint;
  exports dev.millrace.storage.record;
}
