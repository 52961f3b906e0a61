package dev.millrace.cluster;

import java.time.Duration;

/**
 * What a server lets its callers use, honest or not. Each is a system property, which the message
 * of a call that is refused names.
 *
 * @param messageBytes how long a message may be that carries tensors or a graph
 * @param smallMessageBytes how long any other may be
 * @param pendingBytes how long all messages may be together that are arriving or being served
 * @param request how long a caller may take to say what it wants: for the handshake, for its first
 *     call, and for a request that comes a few bytes at a time
 * @param idle how long a connection without calls and sessions is kept
 * @param calls how many calls a connection may have under way
 * @param resets how many calls it may break off in ten seconds
 * @param sessions how many sessions, or graphs without one, a connection may hold
 * @param early how many calls of RecvTensor may wait for steps that have not begun
 * @param earlyAge how long they may
 */
public record Limits(
    int messageBytes,
    int smallMessageBytes,
    long pendingBytes,
    Duration request,
    Duration idle,
    int calls,
    int resets,
    int sessions,
    int early,
    Duration earlyAge) {
  /** Those of the system properties. */
  public static Limits ofProperties() {
    return new Limits(
        Integer.getInteger("millrace.limit.message.bytes", Integer.MAX_VALUE),
        Integer.getInteger("millrace.limit.small.message.bytes", 4 << 20),
        Long.getLong("millrace.limit.pending.bytes", Runtime.getRuntime().maxMemory() / 2),
        Duration.ofSeconds(Integer.getInteger("millrace.limit.request.seconds", 15)),
        Duration.ofSeconds(Integer.getInteger("millrace.limit.idle.seconds", 600)),
        Integer.getInteger("millrace.limit.calls", 16_384),
        Integer.getInteger("millrace.limit.resets", 20_000),
        Integer.getInteger("millrace.limit.sessions", 1000),
        Integer.getInteger("millrace.limit.early", 10_000),
        Duration.ofSeconds(Integer.getInteger("millrace.limit.early.seconds", 300)));
  }

  /** How a caller is told which property raises the limit it has met. */
  public static String raisedBy(String property) {
    return " The server's option -Dmillrace.limit." + property + " raises the limit.";
  }
}
