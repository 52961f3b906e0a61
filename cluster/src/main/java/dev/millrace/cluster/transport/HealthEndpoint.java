package dev.millrace.cluster.transport;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.http2.GrpcErrors;
import dev.millrace.cluster.http2.GrpcMethods;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * gRPC's standard health service, {@code grpc.health.v1.Health}, which load balancers and
 * Kubernetes' probes ask. All services of a server are well or none is.
 *
 * <p>Threading: any thread.
 */
public final class HealthEndpoint {
  private static final String NAME = "grpc.health.v1.Health";
  private static final int SERVING = 1;
  private static final int NOT_SERVING = 2;
  private static final int SERVICE_UNKNOWN = 3;

  private static final MethodDescriptor<byte[], byte[]> CHECK =
      method("Check", MethodDescriptor.MethodType.UNARY);
  private static final MethodDescriptor<byte[], byte[]> WATCH =
      method("Watch", MethodDescriptor.MethodType.SERVER_STREAMING);

  private final Set<String> services;
  private final Map<StreamObserver<byte[]>, String> watchers = new ConcurrentHashMap<>();
  private volatile boolean serving = true;

  /** Speaks for these services; the empty name is the server. */
  public HealthEndpoint(Set<String> services) {
    this.services = Set.copyOf(services);
  }

  private static MethodDescriptor<byte[], byte[]> method(
      String name, MethodDescriptor.MethodType type) {
    return MethodDescriptor.<byte[], byte[]>newBuilder()
        .setType(type)
        .setFullMethodName(MethodDescriptor.generateFullMethodName(NAME, name))
        .setRequestMarshaller(GrpcMethods.BYTES)
        .setResponseMarshaller(GrpcMethods.BYTES)
        .build();
  }

  /** The service. */
  public ServerServiceDefinition service() {
    ServerServiceDefinition.Builder b = ServerServiceDefinition.builder(NAME);
    ServedMethods.serve(b, CHECK, this::check);
    b.addMethod(WATCH, ServerCalls.asyncServerStreamingCall(this::watch));
    return b.build();
  }

  private byte[] check(byte[] request) {
    String service = serviceOf(request);
    if (!services.contains(service)) {
      throw new MillraceException(Code.NOT_FOUND, "This server has no service '" + service + "'.");
    }
    return response(status(service));
  }

  private void watch(byte[] request, StreamObserver<byte[]> observer) {
    String service;
    try {
      service = serviceOf(request);
    } catch (MillraceException e) {
      observer.onError(GrpcErrors.encode(e));
      return;
    }
    ((ServerCallStreamObserver<byte[]>) observer)
        .setOnCancelHandler(() -> watchers.remove(observer));
    watchers.put(observer, service);
    tell(observer, service);
  }

  private void tell(StreamObserver<byte[]> observer, String service) {
    synchronized (observer) {
      if (!((ServerCallStreamObserver<byte[]>) observer).isCancelled()) {
        observer.onNext(response(status(service)));
      }
    }
  }

  private int status(String service) {
    return !services.contains(service) ? SERVICE_UNKNOWN : serving ? SERVING : NOT_SERVING;
  }

  /** From now on the server says that it takes no more work. */
  public void stopServing() {
    serving = false;
    watchers.forEach(this::tell);
  }

  /** Field 1 of HealthCheckRequest. */
  private static String serviceOf(byte[] request) {
    try {
      CodedInputStream in = CodedInputStream.newInstance(request);
      String service = "";
      for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
        if (tag == (1 << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED)) {
          service = in.readStringRequireUtf8();
        } else {
          in.skipField(tag);
        }
      }
      return service;
    } catch (IOException e) {
      throw MillraceException.invalid("The request cannot be read: %s", e.getMessage());
    }
  }

  /** Field 1 of HealthCheckResponse. */
  private static byte[] response(int status) {
    byte[] bytes = new byte[CodedOutputStream.computeEnumSize(1, status)];
    try {
      CodedOutputStream.newInstance(bytes).writeEnum(1, status);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
    return bytes;
  }
}
