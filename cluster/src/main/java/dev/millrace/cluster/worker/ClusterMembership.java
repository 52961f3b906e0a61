package dev.millrace.cluster.worker;

import dev.millrace.cluster.peer.WorkerPeers;

/**
 * Who this task is in a cluster and how the others are reached. A server is a member of the cluster
 * it was started in; a session that brings a cluster of its own makes it one of that as well, under
 * the name it has there.
 */
record ClusterMembership(String taskName, WorkerPeers peers) {}
