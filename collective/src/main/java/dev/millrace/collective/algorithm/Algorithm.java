package dev.millrace.collective.algorithm;

/** The ways to do an all-reduce. All give the same bits. */
public enum Algorithm {
  /** Through memory the ranks of one host share. */
  ISLAND,
  /** Every rank gets all vectors and reduces them itself; for small ones. */
  GATHER,
  /** Each of two ranks gets the other's vector and adds it as it arrives. */
  EXCHANGE,
  /** Every rank gets its part of all vectors at once and sends the result to all. */
  DIRECT,
  /** Parts travel around a ring, for large ones. */
  RING,
  /** A ring of hosts, shared memory within each. */
  TWO_LEVEL
}
