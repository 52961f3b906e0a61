package dev.millrace.collective;

import dev.millrace.base.MillraceException;
import dev.millrace.collective.member.Place;
import dev.millrace.collective.member.Terms;
import dev.millrace.collective.peers.Transport;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;

/**
 * How a rank takes part in a job.
 *
 * @param place which rank of which job it is
 * @param transport how ranks of one host talk
 * @param terms how long ranks wait to find each other and to miss each other
 * @param timeout how long an operation may see nothing move before it fails
 * @param fusionBytes up to this size tensors are reduced together; 0 keeps each apart
 * @param tunes whether the size of the buckets gradients travel in is found by trying
 * @param stallWarning after this time a tensor that not all ranks have submitted is warned about
 * @param stallDeadline after this time it fails
 * @param timeline where rank 0 records its operations for the Chrome trace viewer; null for nowhere
 */
public record Settings(
    Place place,
    Transport transport,
    Terms terms,
    Duration timeout,
    long fusionBytes,
    boolean tunes,
    Duration stallWarning,
    Duration stallDeadline,
    Path timeline) {
  private static final long DEFAULT_FUSION_BYTES = 64L << 20;

  /** The defaults for this place. */
  public static Settings of(Place place) {
    return new Settings(
        place,
        Transport.AUTO,
        Terms.DEFAULT,
        Duration.ofSeconds(60),
        DEFAULT_FUSION_BYTES,
        false,
        Duration.ofSeconds(60),
        Duration.ofMinutes(10),
        null);
  }

  /**
   * What the environment says: the place (see {@link Place#fromEnvironment()}) and the variables
   * MILLRACE_TRANSPORT (auto, shared_memory, unix, tcp), MILLRACE_FUSION_THRESHOLD in bytes,
   * MILLRACE_AUTOTUNE (1 or 0), MILLRACE_TIMELINE, a file, and in seconds MILLRACE_JOIN_TIMEOUT,
   * MILLRACE_LIVENESS_TIMEOUT, MILLRACE_COLLECTIVE_TIMEOUT, MILLRACE_STALL_WARNING and
   * MILLRACE_STALL_DEADLINE. Horovod's names for the threshold, tuning, the file and the stall
   * times are understood too.
   */
  public static Settings fromEnvironment() {
    return fromEnvironment(Place.fromEnvironment(), System.getenv());
  }

  /** The same for a place that is known otherwise. */
  public static Settings fromEnvironment(Place place) {
    return fromEnvironment(place, System.getenv());
  }

  /** The same for variables other than this process's own. */
  public static Settings fromEnvironment(Place place, Map<String, String> env) {
    Settings d = of(place);
    Terms terms =
        new Terms(
            seconds(env, d.terms.join(), "MILLRACE_JOIN_TIMEOUT"),
            seconds(env, d.terms.liveness(), "MILLRACE_LIVENESS_TIMEOUT"),
            d.terms.close());
    String timeline = first(env, "MILLRACE_TIMELINE", "HOROVOD_TIMELINE");
    String fusion = first(env, "MILLRACE_FUSION_THRESHOLD", "HOROVOD_FUSION_THRESHOLD");
    String tune = first(env, "MILLRACE_AUTOTUNE", "HOROVOD_AUTOTUNE");
    return new Settings(
        place,
        transport(env.get("MILLRACE_TRANSPORT")),
        terms,
        seconds(env, d.timeout, "MILLRACE_COLLECTIVE_TIMEOUT"),
        fusion == null ? d.fusionBytes : (long) number("the fusion threshold", fusion),
        tune != null && number("MILLRACE_AUTOTUNE", tune) > 0,
        seconds(env, d.stallWarning, "MILLRACE_STALL_WARNING", "HOROVOD_STALL_CHECK_TIME_SECONDS"),
        seconds(
            env, d.stallDeadline, "MILLRACE_STALL_DEADLINE", "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"),
        timeline == null ? null : Path.of(timeline));
  }

  private static Transport transport(String name) {
    if (name == null) {
      return Transport.AUTO;
    }
    try {
      return Transport.valueOf(name.strip().toUpperCase(Locale.ROOT));
    } catch (IllegalArgumentException e) {
      throw MillraceException.invalid(
          "MILLRACE_TRANSPORT is '%s'; it must be one of %s.",
          name, Arrays.toString(Transport.values()).toLowerCase(Locale.ROOT));
    }
  }

  private static Duration seconds(Map<String, String> env, Duration otherwise, String... names) {
    String text = first(env, names);
    if (text == null) {
      return otherwise;
    }
    double seconds = number(names[0], text);
    // In Horovod's variables 0 means never.
    return seconds == 0 ? Duration.ofDays(365) : Duration.ofMillis((long) (seconds * 1000));
  }

  private static String first(Map<String, String> env, String... names) {
    return Arrays.stream(names).map(env::get).filter(v -> v != null).findFirst().orElse(null);
  }

  private static double number(String name, String text) {
    try {
      double v = Double.parseDouble(text.strip());
      if (v >= 0) {
        return v;
      }
    } catch (NumberFormatException e) {
      // Said below.
    }
    throw MillraceException.invalid("%s is '%s'; it must be a number, 0 or more.", name, text);
  }

  /** The same with another transport. */
  public Settings withTransport(Transport newTransport) {
    return new Settings(
        place,
        newTransport,
        terms,
        timeout,
        fusionBytes,
        tunes,
        stallWarning,
        stallDeadline,
        timeline);
  }

  /** The same with other terms. */
  public Settings withTerms(Terms newTerms) {
    return new Settings(
        place,
        transport,
        newTerms,
        timeout,
        fusionBytes,
        tunes,
        stallWarning,
        stallDeadline,
        timeline);
  }

  /** The same with another limit for operations that see nothing move. */
  public Settings withTimeout(Duration newTimeout) {
    return new Settings(
        place,
        transport,
        terms,
        newTimeout,
        fusionBytes,
        tunes,
        stallWarning,
        stallDeadline,
        timeline);
  }

  /** The same with another size up to which tensors are reduced together. */
  public Settings withFusionBytes(long bytes) {
    return new Settings(
        place, transport, terms, timeout, bytes, tunes, stallWarning, stallDeadline, timeline);
  }

  /** The same with the size of buckets found by trying, or not. */
  public Settings withTuning(boolean tune) {
    return new Settings(
        place, transport, terms, timeout, fusionBytes, tune, stallWarning, stallDeadline, timeline);
  }

  /** The same with other times for tensors that not all ranks have submitted. */
  public Settings withStall(Duration warning, Duration deadline) {
    return new Settings(
        place, transport, terms, timeout, fusionBytes, tunes, warning, deadline, timeline);
  }

  /** The same with a file in which rank 0 records its operations. */
  public Settings withTimeline(Path file) {
    return new Settings(
        place, transport, terms, timeout, fusionBytes, tunes, stallWarning, stallDeadline, file);
  }
}
