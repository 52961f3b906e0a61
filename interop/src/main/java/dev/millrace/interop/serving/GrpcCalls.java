package dev.millrace.interop.serving;

import dev.millrace.interop.bench.Contender;
import dev.millrace.interop.bench.ContenderProcess;
import dev.millrace.interop.bench.Sample;
import dev.millrace.proto.serving.ModelSpec;
import dev.millrace.proto.serving.PredictRequest;
import dev.millrace.serving.grpc.ServingMethods;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.TensorCodec;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Calls Predict with single rows from several threads over one connection; every error ends it.
 * Argument: the port.
 */
public final class GrpcCalls implements ContenderProcess.Maker {
  private static final int THREADS = 16;
  private static final int SECONDS = 10;

  @Override
  public Contender make(List<String> arguments) {
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", Integer.parseInt(arguments.getFirst()))
            .usePlaintext()
            .build();
    PredictRequest.Builder b =
        PredictRequest.newBuilder().setModelSpec(ModelSpec.newBuilder().setName(ClickExport.MODEL));
    ClickExport.values()
        .forEach(
            (name, v) -> {
              try (Tensor t =
                  v instanceof Float f ? Tensor.vector(f) : Tensor.vector((long) (Integer) v)) {
                b.putInputs(name, TensorCodec.encodeConstant(t));
              }
            });
    PredictRequest request = b.build();
    ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    return new Contender() {
      @Override
      public String name() {
        return "gRPC";
      }

      @Override
      public Sample run(Duration duration) {
        List<Future<Sample>> all = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
          all.add(threads.submit(() -> Sample.of(() -> call(channel, request), duration)));
        }
        List<Sample> samples = new ArrayList<>();
        for (Future<Sample> f : all) {
          try {
            samples.add(f.get());
          } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException(e);
          }
        }
        Sample sum = Sample.together(samples);
        return new Sample(sum.stepsPerSecond(), sum.medianMicros(), sum.p99Micros(), 0);
      }

      @Override
      public void close() {
        channel.shutdownNow();
        threads.shutdownNow();
      }
    };
  }

  private static void call(ManagedChannel channel, PredictRequest request) {
    CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(SECONDS, TimeUnit.SECONDS);
    var _ = ClientCalls.blockingUnaryCall(channel, ServingMethods.PREDICT, options, request);
  }
}
