package dev.millrace.cluster.http2;

import com.google.protobuf.Message;
import dev.millrace.proto.*;
import io.grpc.MethodDescriptor;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/**
 * The methods of the services. TensorFlow's paths have the package {@code tensorflow}, not the
 * {@code tensorflow.grpc} of TensorFlow's own service files: that is what its runtime speaks.
 */
public final class GrpcMethods {
  public static final String MASTER = "tensorflow.MasterService";
  public static final String WORKER = "tensorflow.WorkerService";
  public static final String LINK = "millrace.LinkService";
  public static final String TASK = "millrace.TaskService";

  /** For messages that do not pass through protobuf's classes. */
  public static final MethodDescriptor.Marshaller<byte[]> BYTES = new Bytes();

  public static final MethodDescriptor<CreateSessionRequest, CreateSessionResponse> CREATE_SESSION =
      master(
          "CreateSession",
          CreateSessionRequest.getDefaultInstance(),
          CreateSessionResponse.getDefaultInstance());
  public static final MethodDescriptor<ExtendSessionRequest, ExtendSessionResponse> EXTEND_SESSION =
      master(
          "ExtendSession",
          ExtendSessionRequest.getDefaultInstance(),
          ExtendSessionResponse.getDefaultInstance());
  public static final MethodDescriptor<RunStepRequest, RunStepResponse> RUN_STEP =
      master("RunStep", RunStepRequest.getDefaultInstance(), RunStepResponse.getDefaultInstance());
  public static final MethodDescriptor<PartialRunSetupRequest, PartialRunSetupResponse>
      PARTIAL_RUN_SETUP =
          master(
              "PartialRunSetup",
              PartialRunSetupRequest.getDefaultInstance(),
              PartialRunSetupResponse.getDefaultInstance());
  public static final MethodDescriptor<CloseSessionRequest, CloseSessionResponse> CLOSE_SESSION =
      master(
          "CloseSession",
          CloseSessionRequest.getDefaultInstance(),
          CloseSessionResponse.getDefaultInstance());
  public static final MethodDescriptor<ListDevicesRequest, ListDevicesResponse> LIST_DEVICES =
      master(
          "ListDevices",
          ListDevicesRequest.getDefaultInstance(),
          ListDevicesResponse.getDefaultInstance());
  public static final MethodDescriptor<ResetRequest, ResetResponse> RESET =
      master("Reset", ResetRequest.getDefaultInstance(), ResetResponse.getDefaultInstance());
  public static final MethodDescriptor<MakeCallableRequest, MakeCallableResponse> MAKE_CALLABLE =
      master(
          "MakeCallable",
          MakeCallableRequest.getDefaultInstance(),
          MakeCallableResponse.getDefaultInstance());
  public static final MethodDescriptor<RunCallableRequest, RunCallableResponse> RUN_CALLABLE =
      master(
          "RunCallable",
          RunCallableRequest.getDefaultInstance(),
          RunCallableResponse.getDefaultInstance());
  public static final MethodDescriptor<ReleaseCallableRequest, ReleaseCallableResponse>
      RELEASE_CALLABLE =
          master(
              "ReleaseCallable",
              ReleaseCallableRequest.getDefaultInstance(),
              ReleaseCallableResponse.getDefaultInstance());

  public static final MethodDescriptor<GetStatusRequest, GetStatusResponse> GET_STATUS =
      worker(
          "GetStatus",
          GetStatusRequest.getDefaultInstance(),
          GetStatusResponse.getDefaultInstance());
  public static final MethodDescriptor<CreateWorkerSessionRequest, CreateWorkerSessionResponse>
      CREATE_WORKER_SESSION =
          worker(
              "CreateWorkerSession",
              CreateWorkerSessionRequest.getDefaultInstance(),
              CreateWorkerSessionResponse.getDefaultInstance());
  public static final MethodDescriptor<DeleteWorkerSessionRequest, DeleteWorkerSessionResponse>
      DELETE_WORKER_SESSION =
          worker(
              "DeleteWorkerSession",
              DeleteWorkerSessionRequest.getDefaultInstance(),
              DeleteWorkerSessionResponse.getDefaultInstance());
  public static final MethodDescriptor<RegisterGraphRequest, RegisterGraphResponse> REGISTER_GRAPH =
      worker(
          "RegisterGraph",
          RegisterGraphRequest.getDefaultInstance(),
          RegisterGraphResponse.getDefaultInstance());
  public static final MethodDescriptor<DeregisterGraphRequest, DeregisterGraphResponse>
      DEREGISTER_GRAPH =
          worker(
              "DeregisterGraph",
              DeregisterGraphRequest.getDefaultInstance(),
              DeregisterGraphResponse.getDefaultInstance());
  public static final MethodDescriptor<RunGraphRequest, RunGraphResponse> RUN_GRAPH =
      worker(
          "RunGraph", RunGraphRequest.getDefaultInstance(), RunGraphResponse.getDefaultInstance());
  public static final MethodDescriptor<CleanupGraphRequest, CleanupGraphResponse> CLEANUP_GRAPH =
      worker(
          "CleanupGraph",
          CleanupGraphRequest.getDefaultInstance(),
          CleanupGraphResponse.getDefaultInstance());
  public static final MethodDescriptor<CleanupAllRequest, CleanupAllResponse> CLEANUP_ALL =
      worker(
          "CleanupAll",
          CleanupAllRequest.getDefaultInstance(),
          CleanupAllResponse.getDefaultInstance());
  public static final MethodDescriptor<LoggingRequest, LoggingResponse> LOGGING =
      worker("Logging", LoggingRequest.getDefaultInstance(), LoggingResponse.getDefaultInstance());
  public static final MethodDescriptor<MarkRecvFinishedRequest, MarkRecvFinishedResponse>
      MARK_RECV_FINISHED =
          worker(
              "MarkRecvFinished",
              MarkRecvFinishedRequest.getDefaultInstance(),
              MarkRecvFinishedResponse.getDefaultInstance());
  public static final MethodDescriptor<CompleteGroupRequest, CompleteGroupResponse> COMPLETE_GROUP =
      worker(
          "CompleteGroup",
          CompleteGroupRequest.getDefaultInstance(),
          CompleteGroupResponse.getDefaultInstance());
  public static final MethodDescriptor<CompleteInstanceRequest, CompleteInstanceResponse>
      COMPLETE_INSTANCE =
          worker(
              "CompleteInstance",
              CompleteInstanceRequest.getDefaultInstance(),
              CompleteInstanceResponse.getDefaultInstance());
  public static final MethodDescriptor<GetStepSequenceRequest, GetStepSequenceResponse>
      GET_STEP_SEQUENCE =
          worker(
              "GetStepSequence",
              GetStepSequenceRequest.getDefaultInstance(),
              GetStepSequenceResponse.getDefaultInstance());
  public static final MethodDescriptor<RecvBufRequest, RecvBufResponse> RECV_BUF =
      worker("RecvBuf", RecvBufRequest.getDefaultInstance(), RecvBufResponse.getDefaultInstance());

  /** Neither served nor called by gRPC: see {@link TensorStreams} and {@link TensorChannel}. */
  public static final MethodDescriptor<RecvTensorRequest, RecvTensorResponse> RECV_TENSOR =
      worker(
          "RecvTensor",
          RecvTensorRequest.getDefaultInstance(),
          RecvTensorResponse.getDefaultInstance());

  /** How Millrace processes get to know each other; TensorFlow's do not have it. */
  public static final MethodDescriptor<byte[], byte[]> GREET =
      MethodDescriptor.<byte[], byte[]>newBuilder()
          .setType(MethodDescriptor.MethodType.UNARY)
          .setFullMethodName(MethodDescriptor.generateFullMethodName(LINK, "Greet"))
          .setRequestMarshaller(BYTES)
          .setResponseMarshaller(BYTES)
          .build();

  /** How a Millrace task is. */
  public static final MethodDescriptor<TaskFactsRequest, TaskFacts> FACTS =
      method(TASK, "Facts", TaskFactsRequest.getDefaultInstance(), TaskFacts.getDefaultInstance());

  private GrpcMethods() {}

  /** Messages that are not protobuf's. */
  private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static <Q extends Message, R extends Message> MethodDescriptor<Q, R> master(
      String name, Q request, R response) {
    return method(MASTER, name, request, response);
  }

  private static <Q extends Message, R extends Message> MethodDescriptor<Q, R> worker(
      String name, Q request, R response) {
    return method(WORKER, name, request, response);
  }

  private static <Q extends Message, R extends Message> MethodDescriptor<Q, R> method(
      String service, String name, Q request, R response) {
    return MethodDescriptor.<Q, R>newBuilder()
        .setType(MethodDescriptor.MethodType.UNARY)
        .setFullMethodName(MethodDescriptor.generateFullMethodName(service, name))
        .setRequestMarshaller(new MessageMarshaller<>(request))
        .setResponseMarshaller(new MessageMarshaller<>(response))
        .build();
  }
}
