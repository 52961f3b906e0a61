/**
 * The way Millrace processes talk to each other beside TensorFlow's protocol: one connection, a
 * {@link dev.millrace.cluster.link.Link}, over which steps are asked for, tensors are pushed as
 * soon as they are produced, and signs of life are given. Between processes of one host large
 * tensors stay in shared memory. {@link dev.millrace.cluster.link.Links} has those of a process.
 */
package dev.millrace.cluster.link;
