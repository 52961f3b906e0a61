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
public record TensorFlowSessionOptions(String target, ConfigProto config, Duration stepTimeout) {
  /** The runtime in this process with its own defaults. A step may take a minute. */
  public static TensorFlowSessionOptions local() {
    return new TensorFlowSessionOptions(
        "", ConfigProto.getDefaultInstance(), Duration.ofMinutes(1));
  }

  /** A server at {@code grpc://host:port}. A step may take a minute. */
  public static TensorFlowSessionOptions at(String target) {
    return new TensorFlowSessionOptions(
        target, ConfigProto.getDefaultInstance(), Duration.ofMinutes(1));
  }

  /** The same with this many threads within an op and across ops, of the session's own. */
  public TensorFlowSessionOptions withThreads(int threads) {
    return new TensorFlowSessionOptions(
        target,
        config.toBuilder()
            .setIntraOpParallelismThreads(threads)
            .setInterOpParallelismThreads(threads)
            .setUsePerSessionThreads(true)
            .build(),
        stepTimeout);
  }

  public TensorFlowSessionOptions withConfig(ConfigProto other) {
    return new TensorFlowSessionOptions(target, other, stepTimeout);
  }

  public TensorFlowSessionOptions withStepTimeout(Duration other) {
    return new TensorFlowSessionOptions(target, config, other);
  }
}
