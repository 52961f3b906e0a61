package dev.millrace.simulation;

/** A running hash of everything that happens in a simulation. */
final class EventHash {
  private static final long PRIME = 0x100000001B3L;
  private long hash = 0xCBF29CE484222325L;

  long hash() {
    return hash;
  }

  void add(long first, long second) {
    add(first);
    add(second);
  }

  void add(byte[] bytes) {
    for (byte b : bytes) {
      hash = (hash ^ b) * PRIME;
    }
  }

  private void add(long value) {
    hash = (hash ^ value) * PRIME;
    hash ^= hash >>> 29;
  }
}
