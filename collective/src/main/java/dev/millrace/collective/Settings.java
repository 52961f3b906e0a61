package dev.millrace.collective;

import dev.millrace.base.Platform;
import dev.millrace.base.config.Config;
import dev.millrace.base.config.RankSettings;
import dev.millrace.base.context.Context;
import dev.millrace.collective.member.RankConfig;
import dev.millrace.collective.member.Timeouts;
import dev.millrace.collective.peers.Transport;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;

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
 * @param platform the time, threads and sockets the rank uses
 */
public record Settings(
    RankConfig place,
    Transport transport,
    Timeouts terms,
    Duration timeout,
    long fusionBytes,
    boolean tunes,
    Duration stallWarning,
    Duration stallDeadline,
    Path timeline,
    Platform platform) {
  /** The defaults for this place. */
  public static Settings of(RankConfig place) {
    return fromEnvironment(place, Config.defaults());
  }

  /**
   * What this process is told: the place (see {@link RankConfig#fromEnvironment()}) and the
   * settings of {@link RankSettings}, by system properties or environment variables. Horovod's
   * names for some of them are understood too.
   */
  public static Settings fromEnvironment() {
    Config config = Context.current().config();
    return fromEnvironment(RankConfig.fromEnvironment(config), config);
  }

  /** The same for a place that is known otherwise, and for settings of another origin. */
  public static Settings fromEnvironment(RankConfig place, Config config) {
    return new Settings(
        place,
        Transport.valueOf(config.get(RankSettings.TRANSPORT).toUpperCase(Locale.ROOT)),
        new Timeouts(
            config.get(RankSettings.JOIN_TIMEOUT),
            config.get(RankSettings.LIVENESS_TIMEOUT),
            Timeouts.DEFAULT.close()),
        config.get(RankSettings.RING_TIMEOUT),
        config.get(RankSettings.FUSION_THRESHOLD),
        config.get(RankSettings.AUTOTUNE),
        config.get(RankSettings.STALL_WARNING),
        config.get(RankSettings.STALL_DEADLINE),
        config.find(RankSettings.TIMELINE).orElse(null),
        Context.current().platform());
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
        timeline,
        platform);
  }

  /** The same with other terms. */
  public Settings withTerms(Timeouts newTerms) {
    return new Settings(
        place,
        transport,
        newTerms,
        timeout,
        fusionBytes,
        tunes,
        stallWarning,
        stallDeadline,
        timeline,
        platform);
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
        timeline,
        platform);
  }

  /** The same with another size up to which tensors are reduced together. */
  public Settings withFusionBytes(long bytes) {
    return new Settings(
        place,
        transport,
        terms,
        timeout,
        bytes,
        tunes,
        stallWarning,
        stallDeadline,
        timeline,
        platform);
  }

  /** The same with the size of buckets found by trying, or not. */
  public Settings withTuning(boolean tune) {
    return new Settings(
        place,
        transport,
        terms,
        timeout,
        fusionBytes,
        tune,
        stallWarning,
        stallDeadline,
        timeline,
        platform);
  }

  /** The same with other times for tensors that not all ranks have submitted. */
  public Settings withStall(Duration warning, Duration deadline) {
    return new Settings(
        place,
        transport,
        terms,
        timeout,
        fusionBytes,
        tunes,
        warning,
        deadline,
        timeline,
        platform);
  }

  /** The same with a file in which rank 0 records its operations. */
  public Settings withTimeline(Path file) {
    return new Settings(
        place,
        transport,
        terms,
        timeout,
        fusionBytes,
        tunes,
        stallWarning,
        stallDeadline,
        file,
        platform);
  }

  /** The same on another platform, such as a simulated one. */
  public Settings withPlatform(Platform other) {
    return new Settings(
        place,
        transport,
        terms,
        timeout,
        fusionBytes,
        tunes,
        stallWarning,
        stallDeadline,
        timeline,
        other);
  }
}
