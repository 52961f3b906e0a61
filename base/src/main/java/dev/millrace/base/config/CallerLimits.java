package dev.millrace.base.config;

import static dev.millrace.base.config.Setting.Group.LIMITS;
import static java.time.temporal.ChronoUnit.SECONDS;

import java.time.Duration;
import java.util.List;

/** Settings that limit what callers of a server may use. */
public final class CallerLimits {
  public static final Setting<Integer> LIMIT_MESSAGE_BYTES =
      Setting.of(
          LIMITS,
          "millrace.limit.message.bytes",
          SettingKind.integer("bytes", 1),
          Integer.MAX_VALUE,
          "Length of a message that carries tensors or a graph.");

  public static final Setting<Integer> LIMIT_SMALL_MESSAGE_BYTES =
      Setting.of(
          LIMITS,
          "millrace.limit.small.message.bytes",
          SettingKind.integer("bytes", 1),
          4 << 20,
          "Length of any other message.");

  public static final Setting<Long> LIMIT_PENDING_BYTES =
      Setting.optional(
              LIMITS,
              "millrace.limit.pending.bytes",
              SettingKind.bytes(),
              "Total length of the messages being received or served.")
          .otherwise(() -> Runtime.getRuntime().maxMemory() / 2, "half of the heap");

  public static final Setting<Duration> LIMIT_REQUEST =
      Setting.of(
          LIMITS,
          "millrace.limit.request.seconds",
          SettingKind.time(SECONDS),
          Duration.ofSeconds(15),
          "Time for the handshake of a connection, for its first call, and for a request that"
              + " arrives slowly.");

  public static final Setting<Duration> LIMIT_IDLE =
      Setting.of(
          LIMITS,
          "millrace.limit.idle.seconds",
          SettingKind.time(SECONDS),
          Duration.ofSeconds(600),
          "How long a connection without calls and sessions is kept.");

  public static final Setting<Integer> LIMIT_CALLS =
      Setting.of(
          LIMITS,
          "millrace.limit.calls",
          SettingKind.integer("", 1),
          16_384,
          "Calls a connection may have under way.");

  public static final Setting<Integer> LIMIT_RESETS =
      Setting.of(
          LIMITS,
          "millrace.limit.resets",
          SettingKind.integer("", 1),
          20_000,
          "Calls a connection may reset in 10 s.");

  public static final Setting<Integer> LIMIT_SESSIONS =
      Setting.of(
          LIMITS,
          "millrace.limit.sessions",
          SettingKind.integer("", 1),
          1000,
          "Sessions, or graphs without one, a connection may hold.");

  public static final Setting<Integer> LIMIT_EARLY =
      Setting.of(
          LIMITS,
          "millrace.limit.early",
          SettingKind.integer("", 1),
          10_000,
          "Calls of RecvTensor that may wait for steps that have not begun.");

  public static final Setting<Duration> LIMIT_EARLY_AGE =
      Setting.of(
          LIMITS,
          "millrace.limit.early.seconds",
          SettingKind.time(SECONDS),
          Duration.ofSeconds(300),
          "How long such calls may wait.");

  static final List<Setting<?>> ALL =
      List.of(
          LIMIT_MESSAGE_BYTES,
          LIMIT_SMALL_MESSAGE_BYTES,
          LIMIT_PENDING_BYTES,
          LIMIT_REQUEST,
          LIMIT_IDLE,
          LIMIT_CALLS,
          LIMIT_RESETS,
          LIMIT_SESSIONS,
          LIMIT_EARLY,
          LIMIT_EARLY_AGE);

  private CallerLimits() {}
}
