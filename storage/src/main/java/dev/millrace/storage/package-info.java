/**
 * TensorFlow's file formats, read and written byte for byte.
 *
 * <p>Checkpoints are tensor bundles: start with {@link
 * dev.millrace.storage.checkpoint.BundleWriter} and {@link
 * dev.millrace.storage.checkpoint.BundleReader}; {@link
 * dev.millrace.storage.checkpoint.BundleMerge} makes one bundle of the shards several tasks wrote,
 * and {@link dev.millrace.storage.checkpoint.CheckpointStateFile} says which bundle is the latest.
 * Training data is in records ({@link dev.millrace.storage.record.RecordReader}, {@link
 * dev.millrace.storage.record.RecordWriter}); so are the events TensorBoard shows ({@link
 * dev.millrace.storage.record.EventWriter}, {@link dev.millrace.storage.record.EventReader}).
 *
 * <p>Whatever is written under its final name is complete and on disk. Whatever is read is checked:
 * a damaged or truncated file gives DATA_LOSS with the name of the file, never a wrong value.
 */
@NullMarked
package dev.millrace.storage;

import org.jspecify.annotations.NullMarked;
