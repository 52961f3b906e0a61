package dev.millrace.collective.member;

/**
 * Something that runs beside the coordinator and talks to all ranks over the same connections.
 *
 * <p>Threading: called on the coordinator's thread only, so it needs no locks; it must not wait.
 */
public interface Service {
  /** Sends a message to a rank's end of the service. Does not wait. */
  @FunctionalInterface
  interface Post {
    void send(int rank, Packet contents);
  }

  /** Makes the service of a job of {@code size} ranks. */
  @FunctionalInterface
  interface Factory {
    Service create(int size, Post post);
  }

  /** A service that takes no messages. */
  static Service none(int size, Post post) {
    return new Service() {
      @Override
      public void onMessage(int rank, Packet contents) {}

      @Override
      public void onLeft(int rank) {}

      @Override
      public void onTick(long nowNanos) {}
    };
  }

  /** A rank has sent something. */
  void onMessage(int rank, Packet contents);

  /** A rank has left. */
  void onLeft(int rank);

  /** Called every tenth of a second or so, and after every batch of messages. */
  void onTick(long nowNanos);
}
