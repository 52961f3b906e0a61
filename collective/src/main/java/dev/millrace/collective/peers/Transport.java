package dev.millrace.collective.peers;

/** How bytes travel between ranks of one host. Between hosts it is always TCP. */
public enum Transport {
  /** Shared memory where it can be had, else Unix domain sockets. */
  AUTO,
  /** Shared memory; fails where it cannot be had. */
  SHARED_MEMORY,
  /** Unix domain sockets, as if every rank were on a host of its own. */
  UNIX,
  /** TCP, as if every rank were on a host of its own. */
  TCP
}
