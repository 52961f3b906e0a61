/**
 * TensorFlow's collectives: groups of devices that one task, the leader, brings together, and rings
 * and trees in which they pass pieces of tensors on by RecvBuf. Start reading at {@link
 * dev.millrace.cluster.collective.TaskCollectives}. Between Millrace processes alone the rings of
 * {@code dev.millrace.collective} are faster; these are for work shared with TensorFlow's.
 */
package dev.millrace.cluster.collective;
