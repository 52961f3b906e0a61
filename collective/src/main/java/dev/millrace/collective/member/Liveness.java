package dev.millrace.collective.member;

import dev.millrace.base.MillraceException;

/**
 * What is known about the health of a job, apart from its data. There is one failure per job: the
 * first. Once there is one, every rank learns of it and every operation ends with it.
 *
 * <p>Threading: any thread may call any method.
 */
public interface Liveness {
  /** The first failure of the job as far as known here, or null. Cheap. */
  MillraceException failure();

  /** Whether a rank has left: it lives no more, but did not fail. Cheap. */
  boolean hasLeft(int rank);

  /**
   * Reports that this rank cannot go on. Returns the job's first failure, which is {@code cause}
   * unless another came before it. Waits at most a few seconds for that to be known.
   */
  MillraceException fail(MillraceException cause);

  /**
   * Reports that the data stream to {@code rank} broke. Returns the job's first failure: that rank
   * may have been the victim of another. Waits at most a few seconds.
   */
  MillraceException lost(int rank, String how);
}
