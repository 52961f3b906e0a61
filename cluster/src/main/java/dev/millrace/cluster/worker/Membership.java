package dev.millrace.cluster.worker;

/**
 * Who this task is in a cluster and how the others are reached. A server is a member of the cluster
 * it was started in; a session that brings a cluster of its own makes it one of that as well, under
 * the name it has there.
 */
record Membership(String taskName, Peers peers) {}
