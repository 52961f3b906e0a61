package dev.millrace.base.leak;

/**
 * Whose resources a thread takes, where one JVM runs several simulated processes. What a killed
 * process held is no leak, just as the system takes it back from a real one.
 *
 * <p>Threading: any thread.
 */
public final class Owner {
  private static final ThreadLocal<Owner> CURRENT = new ThreadLocal<>();

  private volatile boolean gone;

  /** Runs {@code body}; this owns what it takes on the calling thread. */
  public void run(Runnable body) {
    Owner before = CURRENT.get();
    CURRENT.set(this);
    try {
      body.run();
    } finally {
      CURRENT.set(before);
    }
  }

  /** The owner was killed: from now on nothing that it holds is a leak. */
  public void kill() {
    gone = true;
  }

  boolean isGone() {
    return gone;
  }

  /** The owner of what the calling thread takes; null for this process. */
  static Owner current() {
    return CURRENT.get();
  }
}
