/** Batches of elements of different lengths. */
package dev.millrace.train.data.bucket;
