/** Training data in Parquet files. */
@SuppressWarnings(
    "requires-automatic") // aircompressor and Parquet's structures have no descriptors.
module dev.millrace.parquet {
  requires transitive dev.millrace.train;
  requires aircompressor.v3;
  requires parquet.format.structures;

  exports dev.millrace.parquet;
}
