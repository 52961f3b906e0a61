/**
 * TensorFlow's MasterService and WorkerService over gRPC, both sides. The only package that knows
 * gRPC's types; the rest sees {@link dev.millrace.cluster.peer.WorkerPeer}.
 */
package dev.millrace.cluster.transport;
