package dev.millrace.cluster.spec;

import dev.millrace.base.config.CallerLimits;
import dev.millrace.base.config.Config;
import java.time.Duration;

/**
 * Limits on what callers of a server may use. Each is a setting; the error of a refused call names
 * it.
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
  /** The limits that the settings give. */
  public static ServerLimits of(Config config) {
    return new ServerLimits(
        config.get(CallerLimits.LIMIT_MESSAGE_BYTES),
        config.get(CallerLimits.LIMIT_SMALL_MESSAGE_BYTES),
        config.get(CallerLimits.LIMIT_PENDING_BYTES),
        config.get(CallerLimits.LIMIT_REQUEST),
        config.get(CallerLimits.LIMIT_IDLE),
        config.get(CallerLimits.LIMIT_CALLS),
        config.get(CallerLimits.LIMIT_RESETS),
        config.get(CallerLimits.LIMIT_SESSIONS),
        config.get(CallerLimits.LIMIT_EARLY),
        config.get(CallerLimits.LIMIT_EARLY_AGE));
  }

  /** The sentence of an error message that names the property for its limit. */
  public static String raisedBy(String property) {
    return " The server's option -Dmillrace.limit." + property + " raises the limit.";
  }
}
