package dev.millrace.cluster;

import java.time.Duration;

/**
 * Limits on what callers of a server may use. Each is a system property; the error of a refused
 * call names it.
 *
 * @param messageBytes how long a message may be that carries tensors or a graph
 * @param smallMessageBytes how long any other message may be
 * @param pendingBytes total length of the messages being received or served
 * @param request time limit for the handshake of a connection, for its first call, and for a
 *     request that arrives slowly
 * @param idle how long a connection without calls and sessions is kept
 * @param calls how many calls a connection may have under way
 * @param resets how many calls a connection may reset in 10 s
 * @param sessions how many sessions, or graphs without one, a connection may hold
 * @param early how many calls of RecvTensor may wait for steps that have not begun
 * @param earlyAge how long such calls may wait
 */
public record ServerLimits(
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
  /** The limits that the system properties set. */
  public static ServerLimits ofProperties() {
    return new ServerLimits(
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

  /** The sentence of an error message that names the property for its limit. */
  public static String raisedBy(String property) {
    return " The server's option -Dmillrace.limit." + property + " raises the limit.";
  }
}
