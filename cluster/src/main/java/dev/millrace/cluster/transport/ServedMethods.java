package dev.millrace.cluster.transport;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.http2.GrpcErrors;
import dev.millrace.cluster.link.Link;
import io.grpc.Context;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import java.io.ByteArrayInputStream;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * The methods of a service, for calls by gRPC and over links alike. A method runs in a {@link
 * Context} that knows the connection of its caller and is cancelled when the caller gives up.
 *
 * <p>Threading: filled by one thread; called by any.
 */
final class ServedMethods {
  private record Method<Q, R>(
      MethodDescriptor<Q, R> descriptor, Function<Q, CompletableFuture<R>> body) {
    CompletableFuture<byte[]> call(byte[] request) {
      return body.apply(descriptor.parseRequest(new ByteArrayInputStream(request)))
          .thenApply(r -> LinkCalls.bytes(descriptor.streamResponse(r)));
    }

    CompletableFuture<R> start(Q request) {
      try {
        return body.apply(request);
      } catch (Throwable t) {
        return CompletableFuture.failedFuture(t);
      }
    }

    void addTo(ServerServiceDefinition.Builder b) {
      b.addMethod(
          descriptor,
          ServerCalls.asyncUnaryCall(
              (request, observer) -> {
                ServerCallStreamObserver<R> answer = (ServerCallStreamObserver<R>) observer;
                CompletableFuture<R> result = start(request);
                if (!result.isDone()) {
                  answer.setOnCancelHandler(() -> result.cancel(false));
                }
                result.whenComplete(
                    (r, e) -> {
                      if (e != null) {
                        if (!answer.isCancelled()) {
                          observer.onError(GrpcErrors.encode(e));
                        }
                      } else if (!answer.isCancelled()) {
                        observer.onNext(r);
                        observer.onCompleted();
                      }
                    });
              }));
    }
  }

  private final Map<String, Method<?, ?>> methods = new LinkedHashMap<>();

  /** A method that answers on the call's thread. */
  <Q, R> void add(MethodDescriptor<Q, R> m, Function<Q, R> body) {
    addLater(m, request -> CompletableFuture.completedFuture(body.apply(request)));
  }

  /** A method whose answer may take its time; it is cancelled with the call. */
  <Q, R> void addLater(MethodDescriptor<Q, R> m, Function<Q, CompletableFuture<R>> body) {
    methods.put(m.getFullMethodName(), new Method<>(m, body));
  }

  /** Serves one method by gRPC only. */
  static <Q, R> void serve(
      ServerServiceDefinition.Builder b, MethodDescriptor<Q, R> m, Function<Q, R> body) {
    ServedMethods one = new ServedMethods();
    one.add(m, body);
    one.addTo(b);
  }

  /** Serves all methods by gRPC. */
  void addTo(ServerServiceDefinition.Builder b) {
    methods.values().forEach(m -> m.addTo(b));
  }

  boolean has(String method) {
    return methods.containsKey(method);
  }

  /** Serves a call that came over a link. */
  CompletableFuture<byte[]> call(
      Link link, String method, byte[] request, Cancellation cancellation) {
    Context.CancellableContext context =
        Context.ROOT.withValue(Connections.CURRENT, link).withCancellation();
    Cancellation.Registration onCancel = cancellation.onCancel(() -> context.cancel(null));
    CompletableFuture<byte[]> answer;
    try {
      answer = context.call(() -> methods.get(method).call(request));
    } catch (Exception e) {
      answer = CompletableFuture.failedFuture(MillraceException.of(e));
    }
    onCancel.close();
    CompletableFuture<byte[]> awaited = answer;
    if (!awaited.isDone()) {
      Cancellation.Registration whileAwaited =
          cancellation.onCancel(
              () ->
                  awaited.completeExceptionally(
                      cancellation.cause() != null
                          ? cancellation.cause()
                          : new MillraceException(Code.CANCELLED, "The call was cancelled.")));
      awaited.whenComplete((r, e) -> whileAwaited.close());
    }
    awaited.whenComplete((r, e) -> context.cancel(null));
    return awaited;
  }
}
