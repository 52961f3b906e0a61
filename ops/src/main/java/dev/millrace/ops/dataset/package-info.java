/**
 * TensorFlow's input pipelines. A {@link dev.millrace.ops.dataset.DatasetValue} says what elements
 * there are and is a value; {@link dev.millrace.ops.dataset.DatasetElements} walk through them
 * once; a {@link dev.millrace.ops.dataset.DatasetIterator} is the resource of a task that steps
 * take elements from.
 */
package dev.millrace.ops.dataset;
