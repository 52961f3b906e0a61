/**
 * One graph over many processes: {@link dev.millrace.cluster.spec.ClusterSpec} says which tasks
 * there are, {@link dev.millrace.cluster.Server} is one of them, {@link
 * dev.millrace.cluster.ClusterSession} runs graphs on all.
 */
package dev.millrace.cluster;
