/**
 * How one task reaches another: {@link dev.millrace.cluster.peer.WorkerPeer} is a task as masters
 * and workers call it, {@link dev.millrace.cluster.peer.WorkerPeers} finds it by name.
 */
package dev.millrace.cluster.peer;
