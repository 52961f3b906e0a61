/**
 * How the ranks of a job reach each other. {@link dev.millrace.collective.peers.RankPeers} is the
 * seam the algorithms stand on: an ordered stream of bytes to and from every rank. A {@link
 * dev.millrace.collective.peers.Mesh} implements it with one link per peer, over sockets or over
 * memory shared on one host ({@link dev.millrace.collective.peers.HostGroup}).
 */
package dev.millrace.collective.peers;
