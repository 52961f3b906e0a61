/**
 * Collective operations between the ranks of a job, without a parameter server. Start with {@link
 * dev.millrace.collective.Ring}, through which gradients are reduced by name and in any order, or
 * with {@link dev.millrace.collective.Communicator}, whose operations all ranks call in the same
 * order as in MPI.
 *
 * <p>Below: {@code reduce} combines elements, {@code member} knows who belongs to the job and who
 * lives, {@code peers} moves bytes between ranks, {@code algorithm} makes collective operations of
 * them.
 */
package dev.millrace.collective;
