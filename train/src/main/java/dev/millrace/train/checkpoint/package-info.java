/**
 * Saving the variables of a graph and getting them back: {@link
 * dev.millrace.train.checkpoint.Saver} adds the nodes and runs them, {@link
 * dev.millrace.train.checkpoint.CheckpointFolder} knows the files.
 */
package dev.millrace.train.checkpoint;
