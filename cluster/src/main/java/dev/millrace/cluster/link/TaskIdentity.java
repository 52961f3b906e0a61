package dev.millrace.cluster.link;

/**
 * Who is at an end of a link.
 *
 * @param task the full task name; empty for a client that is no task
 * @param incarnation differs for each process that has been this task
 * @param address where it can be reached, for messages
 */
public record TaskIdentity(String task, long incarnation, String address) {
  /** Whether it is a client and no task of a cluster. */
  public boolean isClient() {
    return task.isEmpty();
  }

  @Override
  public String toString() {
    return isClient() ? "the client at " + address : task + " at " + address;
  }
}
