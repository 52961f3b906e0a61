/**
 * TFRecord files and the tf.Examples in them: {@link dev.millrace.train.data.record.RecordFiles}
 * reads them.
 */
package dev.millrace.train.data.record;
