package dev.millrace.cluster.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cluster.Server;
import dev.millrace.cluster.http2.GrpcMethods;
import dev.millrace.ops.StandardOps;
import dev.millrace.proto.CleanupGraphRequest;
import dev.millrace.proto.CloseSessionRequest;
import dev.millrace.proto.CreateSessionRequest;
import dev.millrace.proto.CreateWorkerSessionRequest;
import dev.millrace.proto.ExtendSessionRequest;
import dev.millrace.proto.GetStatusRequest;
import dev.millrace.proto.RecvTensorRequest;
import dev.millrace.proto.RegisterGraphRequest;
import dev.millrace.proto.RunCallableRequest;
import dev.millrace.proto.RunGraphRequest;
import dev.millrace.proto.RunStepRequest;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Calls that make no sense get a clear status and leave nothing. */
class HostileCallsTest {
  private final Server server = Server.createLocalServer(StandardOps.registry());
  private final ManagedChannel channel =
      TaskPeers.channel(server.target().substring("grpc://".length()), Runnable::run);

  @AfterEach
  void stop() {
    assertEquals(
        1,
        call(GrpcMethods.GET_STATUS, GetStatusRequest.getDefaultInstance())
            .getDeviceAttributesCount());
    assertEquals(0, server.worker().sessionCount());
    channel.shutdownNow();
    server.close();
  }

  private <Q, R> R call(MethodDescriptor<Q, R> method, Q request) {
    return ClientCalls.blockingUnaryCall(
        channel, method, CallOptions.DEFAULT.withDeadlineAfter(10, TimeUnit.SECONDS), request);
  }

  private <Q, R> Status failure(MethodDescriptor<Q, R> method, Q request) {
    return assertThrows(StatusRuntimeException.class, () -> call(method, request)).getStatus();
  }

  @Test
  void unknownHandlesAreRefusedInTensorFlowsWords() {
    Status run =
        failure(GrpcMethods.RUN_STEP, RunStepRequest.newBuilder().setSessionHandle("x").build());
    assertEquals(Status.Code.ABORTED, run.getCode());
    assertEquals("Session x is not found.", run.getDescription());
    Status close =
        failure(
            GrpcMethods.CLOSE_SESSION,
            CloseSessionRequest.newBuilder().setSessionHandle("x").build());
    assertEquals(
        "Session x is not found. Possibly, this master has restarted.", close.getDescription());
    assertEquals(
        Status.Code.ABORTED,
        failure(
                GrpcMethods.EXTEND_SESSION,
                ExtendSessionRequest.newBuilder().setSessionHandle("x").build())
            .getCode());
    assertEquals(
        Status.Code.ABORTED,
        failure(
                GrpcMethods.RUN_CALLABLE,
                RunCallableRequest.newBuilder().setSessionHandle("x").setHandle(7).build())
            .getCode());
    Status graph =
        failure(
            GrpcMethods.RUN_GRAPH,
            RunGraphRequest.newBuilder()
                .setSessionHandle("x")
                .setCreateWorkerSessionCalled(true)
                .build());
    assertEquals(Status.Code.ABORTED, graph.getCode());
    assertTrue(graph.getDescription().startsWith("Session handle is not found: x."));
    assertEquals(
        Status.Code.ABORTED,
        failure(
                GrpcMethods.REGISTER_GRAPH,
                RegisterGraphRequest.newBuilder()
                    .setSessionHandle("x")
                    .setCreateWorkerSessionCalled(true)
                    .build())
            .getCode());
  }

  @Test
  void badArgumentsAreRefused() {
    assertEquals(
        "Session must be non-empty.",
        failure(GrpcMethods.CREATE_WORKER_SESSION, CreateWorkerSessionRequest.getDefaultInstance())
            .getDescription());
    assertEquals(
        Status.Code.INVALID_ARGUMENT,
        failure(
                GrpcMethods.RECV_TENSOR,
                RecvTensorRequest.newBuilder().setStepId(5).setRendezvousKey("nonsense").build())
            .getCode());
    assertEquals(0, server.worker().stepCount());
    // Cleaning up what never was is no mistake.
    call(GrpcMethods.CLEANUP_GRAPH, CleanupGraphRequest.newBuilder().setStepId(99).build());
  }

  @Test
  void aRequestDeliveredTwiceIsCarriedOutOnce() {
    String handle =
        call(GrpcMethods.CREATE_SESSION, CreateSessionRequest.getDefaultInstance())
            .getSessionHandle();
    RunStepRequest twice =
        RunStepRequest.newBuilder().setSessionHandle(handle).setRequestId(77).build();
    assertEquals(
        "Must specify at least one target to fetch or execute.",
        failure(GrpcMethods.RUN_STEP, twice).getDescription());
    Status second = failure(GrpcMethods.RUN_STEP, twice);
    assertEquals(Status.Code.ABORTED, second.getCode());
    assertEquals("The same RunStep request was received twice.", second.getDescription());
    call(
        GrpcMethods.CLOSE_SESSION,
        CloseSessionRequest.newBuilder().setSessionHandle(handle).build());
  }

  @Test
  void messagesThatAreNoneAreRefused() {
    Random random = new Random(3);
    for (MethodDescriptor<?, ?> m :
        new MethodDescriptor<?, ?>[] {
          GrpcMethods.CREATE_SESSION,
          GrpcMethods.RUN_STEP,
          GrpcMethods.RUN_GRAPH,
          GrpcMethods.REGISTER_GRAPH,
          GrpcMethods.RECV_TENSOR,
          GrpcMethods.GREET
        }) {
      MethodDescriptor<byte[], byte[]> raw =
          MethodDescriptor.<byte[], byte[]>newBuilder()
              .setType(MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(m.getFullMethodName())
              .setRequestMarshaller(GrpcMethods.BYTES)
              .setResponseMarshaller(GrpcMethods.BYTES)
              .build();
      for (int i = 0; i < 20; i++) {
        byte[] garbage = new byte[1 + random.nextInt(200)];
        random.nextBytes(garbage);
        // A field that claims more bytes than follow.
        garbage[0] = 0x0A;
        if (garbage.length > 1) {
          garbage[1] = (byte) 0x7F;
        }
        if (garbage.length < 129) {
          Status s = failure(raw, garbage);
          assertTrue(s.getCode() != Status.Code.OK, s::toString);
        }
      }
    }
  }

  @Test
  void healthIsToldToWhoeverAsks() {
    MethodDescriptor<byte[], byte[]> check =
        MethodDescriptor.<byte[], byte[]>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("grpc.health.v1.Health/Check")
            .setRequestMarshaller(GrpcMethods.BYTES)
            .setResponseMarshaller(GrpcMethods.BYTES)
            .build();
    assertArrayEquals(new byte[] {8, 1}, call(check, new byte[0]));
    assertEquals(Status.Code.NOT_FOUND, failure(check, new byte[] {0x0A, 1, 'x'}).getCode());
  }
}
