/**
 * TensorFlow's file formats, read and written byte for byte.
 *
 * <p>Checkpoints are tensor bundles: start with {@link dev.millrace.storage.BundleWriter} and
 * {@link dev.millrace.storage.BundleReader}; {@link dev.millrace.storage.BundleMerge} makes one
 * bundle of the shards several tasks wrote, and {@link dev.millrace.storage.CheckpointStateFile}
 * says which bundle is the latest. Training data is in records ({@link
 * dev.millrace.storage.RecordReader}, {@link dev.millrace.storage.RecordWriter}); so are the events
 * TensorBoard shows ({@link dev.millrace.storage.EventWriter}, {@link
 * dev.millrace.storage.EventReader}).
 *
 * <p>Whatever is written under its final name is complete and on disk. Whatever is read is checked:
 * a damaged or truncated file gives DATA_LOSS with the name of the file, never a wrong value.
 */
package dev.millrace.storage;
