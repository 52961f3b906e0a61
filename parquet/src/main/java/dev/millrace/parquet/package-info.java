/**
 * Parquet files as training data: {@link dev.millrace.parquet.ParquetFiles} reads them, without
 * Hadoop.
 */
package dev.millrace.parquet;
