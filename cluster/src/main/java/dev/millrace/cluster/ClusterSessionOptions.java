package dev.millrace.cluster;

import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.SessionOptions;
import java.time.Duration;

/**
 * How a session on a cluster works.
 *
 * @param config TensorFlow's settings of a session, such as device filters
 * @param stepTimeout the time limit of steps whose options name none; zero for no limit
 * @param usesLinks whether steps go over a link to a Millrace master in another process; false has
 *     them go by gRPC, as to TensorFlow's
 */
public record ClusterSessionOptions(ConfigProto config, Duration stepTimeout, boolean usesLinks) {
  public static final ClusterSessionOptions DEFAULT =
      new ClusterSessionOptions(
          ConfigProto.getDefaultInstance(), SessionOptions.DEFAULT_STEP_TIMEOUT, true);

  /** With TensorFlow's settings of a session. */
  public ClusterSessionOptions withConfig(ConfigProto c) {
    return new ClusterSessionOptions(c, stepTimeout, usesLinks);
  }

  /** How long steps may take whose options name no time; zero for no limit. */
  public ClusterSessionOptions withStepTimeout(Duration t) {
    return new ClusterSessionOptions(config, t, usesLinks);
  }

  /** Whether to link to a Millrace master in another process. */
  public ClusterSessionOptions withLinks(boolean links) {
    return new ClusterSessionOptions(config, stepTimeout, links);
  }
}
