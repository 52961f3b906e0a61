package dev.millrace.cluster.transport;

import dev.millrace.base.Cancellation;
import dev.millrace.cluster.link.Link;
import io.grpc.MethodDescriptor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** Calls of TensorFlow's methods over a link, with the messages that gRPC would carry. */
final class LinkCalls {
  private LinkCalls() {}

  /** One call; null for no time limit. */
  static <Q, R> CompletableFuture<R> call(
      Link link,
      MethodDescriptor<Q, R> method,
      Q request,
      Duration timeout,
      Cancellation cancellation) {
    return link.call(
            method.getFullMethodName(),
            bytes(method.streamRequest(request)),
            timeout,
            cancellation == null ? new Cancellation() : cancellation)
        .thenApply(answer -> method.parseResponse(new ByteArrayInputStream(answer)));
  }

  static byte[] bytes(InputStream message) {
    try (message) {
      return message.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
