package dev.millrace.interop;

import dev.millrace.proto.ConfigProto;
import java.time.Duration;

/**
 * How a session of {@link RealTensorFlow} is opened.
 *
 * @param target empty for the runtime in this process, {@code grpc://host:port} for a server
 * @param config thread counts, device filters and so on, as TensorFlow knows them
 * @param stepTimeout after which a step fails; zero for never, which spares TensorFlow a thread
 *     change per local step
 */
public record SessionOptions(String target, ConfigProto config, Duration stepTimeout) {
  /** The runtime in this process with its own defaults. A step may take a minute. */
  public static SessionOptions local() {
    return new SessionOptions("", ConfigProto.getDefaultInstance(), Duration.ofMinutes(1));
  }

  /** A server at {@code grpc://host:port}. A step may take a minute. */
  public static SessionOptions at(String target) {
    return new SessionOptions(target, ConfigProto.getDefaultInstance(), Duration.ofMinutes(1));
  }

  /** The same with this many threads within an op and across ops, of the session's own. */
  public SessionOptions withThreads(int threads) {
    return new SessionOptions(
        target,
        config.toBuilder()
            .setIntraOpParallelismThreads(threads)
            .setInterOpParallelismThreads(threads)
            .setUsePerSessionThreads(true)
            .build(),
        stepTimeout);
  }

  public SessionOptions withConfig(ConfigProto other) {
    return new SessionOptions(target, other, stepTimeout);
  }

  public SessionOptions withStepTimeout(Duration other) {
    return new SessionOptions(target, config, other);
  }
}
