/**
 * The collective operations on native memory, over {@link dev.millrace.collective.peers.RankPeers}.
 * {@link dev.millrace.collective.algorithm.Collectives} chooses; each algorithm is a class. They
 * stand on two engines: {@code Transfers} moves several ranges at once, {@code Relay} passes a
 * stream on while it arrives.
 */
package dev.millrace.collective.algorithm;
