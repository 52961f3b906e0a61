package dev.millrace.base.config;

import static dev.millrace.base.config.Setting.Group.CLUSTER;
import static java.time.temporal.ChronoUnit.MILLIS;
import static java.time.temporal.ChronoUnit.MINUTES;
import static java.time.temporal.ChronoUnit.SECONDS;

import java.time.Duration;
import java.util.List;

/** Settings of the tasks of a cluster and of sessions on them. */
public final class ClusterSettings {
  public static final Setting<String> CREDENTIALS =
      Setting.optional(
              CLUSTER,
              "millrace.credentials",
              SettingKind.TEXT,
              "The folder with this process's credential for its job, made by 'millrace"
                  + " credentials'; launchers set the credential itself.")
          .secret();

  public static final Setting<Boolean> INSECURE =
      Setting.of(
          CLUSTER,
          "millrace.insecure",
          SettingKind.BOOLEAN,
          false,
          "Whether a task admits everybody who can reach it, on addresses of other hosts too.");

  public static final Setting<Boolean> AUTH =
      Setting.of(
          CLUSTER,
          "millrace.auth",
          SettingKind.BOOLEAN,
          false,
          "Whether a task on a loopback address refuses other users of its host.");

  public static final Setting<String> FILES =
      Setting.optional(
          CLUSTER,
          "millrace.files",
          SettingKind.TEXT,
          "The folders whose files graphs on this task may use, with ':' between them. Default: no"
              + " limit; for 'millrace server', its working folder and the one for temporary"
              + " files.");

  public static final Setting<Boolean> LINK =
      Setting.of(
          CLUSTER,
          "millrace.link",
          SettingKind.BOOLEAN,
          true,
          "Whether Millrace tasks use links between them; if not, only TensorFlow's"
              + " protocol.");

  public static final Setting<Boolean> LINK_WITHIN_HOST =
      Setting.of(
          CLUSTER,
          "millrace.link.within.host",
          SettingKind.BOOLEAN,
          true,
          "Whether links within a host use a Unix socket and shared memory; if not, TCP.");

  public static final Setting<Duration> LINK_SILENCE =
      Setting.of(
          CLUSTER,
          "millrace.link.silence.millis",
          SettingKind.time(MILLIS),
          Duration.ofMillis(3500),
          "A task that sends no heartbeat for this long is lost. Set the same for all tasks.");

  public static final Setting<Long> LINK_SHARED_BYTES =
      Setting.of(
          CLUSTER,
          "millrace.link.shared.bytes",
          SettingKind.bytes(),
          32L << 10,
          "Within a host, tensors of this size or more travel through shared memory.");

  public static final Setting<Long> LINK_SHARED_LIMIT =
      Setting.of(
          CLUSTER,
          "millrace.link.shared.limit",
          SettingKind.bytes(),
          4L << 30,
          "Shared memory per link and direction; the rest travels over the socket.");

  public static final Setting<Duration> START_TIMEOUT =
      Setting.of(
          CLUSTER,
          "millrace.start.timeout.seconds",
          SettingKind.time(SECONDS),
          Duration.ofSeconds(300),
          "How long a new session waits for the tasks it needs.");

  public static final Setting<Duration> START_REPORT =
      Setting.of(
          CLUSTER,
          "millrace.start.report.millis",
          SettingKind.time(MILLIS),
          Duration.ofSeconds(10),
          "How often a waiting session logs which tasks it waits for.");

  public static final Setting<Duration> SESSION_GRACE =
      Setting.of(
          CLUSTER,
          "millrace.session.grace.millis",
          SettingKind.time(MILLIS),
          Duration.ofMinutes(5),
          "A session is closed this long after its client's connection is lost.");

  public static final Setting<Duration> SESSION_LINKED_GRACE =
      Setting.of(
          CLUSTER,
          "millrace.session.linked.grace.millis",
          SettingKind.time(MILLIS),
          Duration.ofSeconds(15),
          "The same for a client that had a link, which tells reliably that it is gone.");

  public static final Setting<Duration> SESSION_IDLE_GRACE =
      Setting.of(
          CLUSTER,
          "millrace.session.idle.grace.millis",
          SettingKind.time(MILLIS),
          Duration.ofHours(1),
          "The same for a client that closed its connection while idle, as gRPC may do.");

  public static final Setting<Duration> STALL =
      Setting.of(
          CLUSTER,
          "millrace.stall.seconds",
          SettingKind.time(SECONDS),
          Duration.ofSeconds(120),
          "A peer that reads nothing of a tensor for this long is disconnected.");

  public static final Setting<Duration> COLLECTIVE_TIMEOUT =
      Setting.of(
          CLUSTER,
          "millrace.collective.timeout.seconds",
          SettingKind.time(SECONDS),
          Duration.ofSeconds(300),
          "How long one of TensorFlow's collective ops may take if it names no timeout.");

  public static final Setting<Integer> COLLECTIVE_ALIGNMENT =
      Setting.of(
          CLUSTER,
          "millrace.collective.alignment",
          SettingKind.integer("bytes", 1),
          64,
          "Where TensorFlow's collective ops cut tensors. Must match the group's TensorFlow"
              + " workers.");

  public static final Setting<Boolean> GRPC_LOG =
      Setting.of(
          CLUSTER,
          "millrace.grpc.log",
          SettingKind.BOOLEAN,
          false,
          "Whether gRPC's own log lines are shown.");

  public static final Setting<Duration> EVALUATOR_PATIENCE =
      Setting.of(
          CLUSTER,
          "millrace.evaluator.patience.minutes",
          SettingKind.time(MINUTES),
          Duration.ofMinutes(60),
          "How long an evaluator waits for the next checkpoint of a job that has not ended.");

  static final List<Setting<?>> ALL =
      List.of(
          CREDENTIALS,
          INSECURE,
          AUTH,
          FILES,
          LINK,
          LINK_WITHIN_HOST,
          LINK_SILENCE,
          LINK_SHARED_BYTES,
          LINK_SHARED_LIMIT,
          START_TIMEOUT,
          START_REPORT,
          SESSION_GRACE,
          SESSION_LINKED_GRACE,
          SESSION_IDLE_GRACE,
          STALL,
          COLLECTIVE_TIMEOUT,
          COLLECTIVE_ALIGNMENT,
          GRPC_LOG,
          EVALUATOR_PATIENCE);

  private ClusterSettings() {}
}
