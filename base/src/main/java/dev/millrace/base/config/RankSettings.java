package dev.millrace.base.config;

import static dev.millrace.base.config.Setting.Group.RING;
import static java.time.temporal.ChronoUnit.SECONDS;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** Settings of the ranks of a ring. */
public final class RankSettings {
  public static final Setting<Integer> RANK =
      Setting.optional(
          RING,
          "millrace.rank",
          SettingKind.integer("", 0),
          "The rank of this process, 0 to size - 1. Set by 'millrace launch'; Horovod's, Open"
              + " MPI's, MPICH's and Slurm's variables are understood too.");

  public static final Setting<Integer> SIZE =
      Setting.optional(
          RING, "millrace.size", SettingKind.integer("", 1), "The number of ranks of the job.");

  public static final Setting<Integer> LOCAL_RANK =
      Setting.optional(
          RING,
          "millrace.local.rank",
          SettingKind.integer("", 0),
          "The number of this rank among those of its host, for programs that need it.");

  public static final Setting<Integer> LOCAL_SIZE =
      Setting.optional(
          RING,
          "millrace.local.size",
          SettingKind.integer("", 1),
          "The number of ranks on this host.");

  public static final Setting<String> HOST =
      Setting.optional(
          RING,
          "millrace.host",
          SettingKind.TEXT,
          "Names this rank's host: ranks with the same text share memory.");

  public static final Setting<String> STATUS =
      Setting.optional(
          RING,
          "millrace.status",
          SettingKind.TEXT,
          "Where the ranks answer how they are, host:port,... in the order of ranks. Set by"
              + " --dashboard.");

  public static final Setting<String> JOB =
      Setting.optional(
          RING,
          "millrace.job",
          SettingKind.TEXT,
          "Names the job among the user's jobs on this host, if it has no rendezvous.");

  public static final Setting<String> RENDEZVOUS =
      Setting.optional(
          RING,
          "millrace.rendezvous",
          SettingKind.TEXT,
          "The coordinator's address, as host:port. Needed if ranks run on several hosts.");

  public static final Setting<String> TOKEN =
      Setting.optional(RING, "millrace.token", SettingKind.TEXT, "The secret of the job.").secret();

  public static final Setting<String> BIND =
      Setting.of(
          RING,
          "millrace.bind",
          SettingKind.TEXT,
          "127.0.0.1",
          "The address this process listens on; 0.0.0.0 for all. A task's default is its host's.");

  public static final Setting<String> COORDINATOR =
      Setting.of(
          RING,
          "millrace.coordinator",
          SettingKind.oneOf("rank0", "launcher"),
          "rank0",
          "Which process runs the coordinator.");

  public static final Setting<String> TRANSPORT =
      Setting.of(
          RING,
          "millrace.transport",
          SettingKind.oneOf("auto", "shared_memory", "unix", "tcp"),
          "auto",
          "How ranks of one host exchange data.");

  public static final Setting<Duration> JOIN_TIMEOUT =
      Setting.of(
          RING,
          "millrace.join.timeout",
          SettingKind.timeOrNever(SECONDS),
          Duration.ofSeconds(60),
          "How long ranks wait for each other at the start.");

  public static final Setting<Duration> LIVENESS_TIMEOUT =
      Setting.of(
          RING,
          "millrace.liveness.timeout",
          SettingKind.timeOrNever(SECONDS),
          Duration.ofSeconds(4),
          "A rank that sends no heartbeat for this long is lost.");

  public static final Setting<Duration> RING_TIMEOUT =
      Setting.of(
          RING,
          "millrace.ring.timeout",
          SettingKind.timeOrNever(SECONDS),
          Duration.ofSeconds(60),
          "An operation in which no data moves for this long fails.");

  public static final Setting<Long> FUSION_THRESHOLD =
      Setting.of(
              RING,
              "millrace.fusion.threshold",
              SettingKind.bytes(),
              64L << 20,
              "Tensors up to this size are reduced together; 0 keeps each apart.")
          .alsoFrom("HOROVOD_FUSION_THRESHOLD");

  public static final Setting<Boolean> AUTOTUNE =
      Setting.of(
              RING,
              "millrace.autotune",
              SettingKind.BOOLEAN,
              false,
              "Whether the size of gradient buckets is found by measurement.")
          .alsoFrom("HOROVOD_AUTOTUNE");

  public static final Setting<Path> TIMELINE =
      Setting.optional(
              RING,
              "millrace.timeline",
              SettingKind.PATH,
              "A file in which rank 0 records its operations for the Chrome trace viewer.")
          .alsoFrom("HOROVOD_TIMELINE");

  public static final Setting<Duration> STALL_WARNING =
      Setting.of(
              RING,
              "millrace.stall.warning",
              SettingKind.timeOrNever(SECONDS),
              Duration.ofSeconds(60),
              "A tensor that some ranks have not submitted after this long is logged.")
          .alsoFrom("HOROVOD_STALL_CHECK_TIME_SECONDS");

  public static final Setting<Duration> STALL_DEADLINE =
      Setting.of(
              RING,
              "millrace.stall.deadline",
              SettingKind.timeOrNever(SECONDS),
              Duration.ofMinutes(10),
              "A tensor that some ranks have not submitted after this long fails.")
          .alsoFrom("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS");

  static final List<Setting<?>> ALL =
      List.of(
          RANK,
          SIZE,
          LOCAL_RANK,
          LOCAL_SIZE,
          HOST,
          STATUS,
          JOB,
          RENDEZVOUS,
          TOKEN,
          BIND,
          COORDINATOR,
          TRANSPORT,
          JOIN_TIMEOUT,
          LIVENESS_TIMEOUT,
          RING_TIMEOUT,
          FUSION_THRESHOLD,
          AUTOTUNE,
          TIMELINE,
          STALL_WARNING,
          STALL_DEADLINE);

  private RankSettings() {}
}
