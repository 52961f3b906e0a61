package dev.millrace.serving.grpc;

import com.google.protobuf.Any;
import com.google.protobuf.Int64Value;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.http2.GrpcErrors;
import dev.millrace.proto.Example;
import dev.millrace.proto.SignatureDef;
import dev.millrace.proto.TensorProto;
import dev.millrace.proto.serving.ClassificationRequest;
import dev.millrace.proto.serving.ClassificationResponse;
import dev.millrace.proto.serving.ExampleListWithContext;
import dev.millrace.proto.serving.GetModelMetadataRequest;
import dev.millrace.proto.serving.GetModelMetadataResponse;
import dev.millrace.proto.serving.GetModelStatusRequest;
import dev.millrace.proto.serving.GetModelStatusResponse;
import dev.millrace.proto.serving.Input;
import dev.millrace.proto.serving.ModelSpec;
import dev.millrace.proto.serving.ModelVersionStatus;
import dev.millrace.proto.serving.PredictRequest;
import dev.millrace.proto.serving.PredictResponse;
import dev.millrace.proto.serving.RegressionRequest;
import dev.millrace.proto.serving.RegressionResponse;
import dev.millrace.proto.serving.SignatureDefMap;
import dev.millrace.proto.serving.StatusProto;
import dev.millrace.serving.model.ModelSignature;
import dev.millrace.serving.served.ExampleCalls;
import dev.millrace.serving.served.ModelChoice;
import dev.millrace.serving.served.ServedModels;
import dev.millrace.serving.served.VersionStatus;
import dev.millrace.tensor.Tensor;
import dev.millrace.wire.TensorCodec;
import io.grpc.MethodDescriptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * PredictionService and ModelService over the models of a server.
 *
 * <p>Threading: any thread.
 */
final class PredictionEndpoint {
  private static final String API = "grpc";
  private static final String SIGNATURES = "signature_def";

  private final ServedModels models;

  PredictionEndpoint(ServedModels models) {
    this.models = models;
  }

  List<ServerServiceDefinition> services() {
    ServerServiceDefinition.Builder prediction =
        ServerServiceDefinition.builder(ServingMethods.PREDICTION);
    add(prediction, ServingMethods.PREDICT, this::predict);
    add(prediction, ServingMethods.CLASSIFY, this::classify);
    add(prediction, ServingMethods.REGRESS, this::regress);
    add(prediction, ServingMethods.METADATA, this::metadata);
    ServerServiceDefinition.Builder model = ServerServiceDefinition.builder(ServingMethods.MODEL);
    add(model, ServingMethods.STATUS, this::status);
    return List.of(prediction.build(), model.build());
  }

  private static <Q, R> void add(
      ServerServiceDefinition.Builder b, MethodDescriptor<Q, R> method, Function<Q, R> serve) {
    b.addMethod(
        method,
        ServerCalls.asyncUnaryCall(
            (request, observer) -> {
              R response;
              try {
                response = serve.apply(request);
              } catch (RuntimeException | Error e) {
                observer.onError(GrpcErrors.encode(e));
                return;
              }
              observer.onNext(response);
              observer.onCompleted();
            }));
  }

  private static ModelChoice choice(ModelSpec spec) {
    if (spec.getName().isEmpty()) {
      throw MillraceException.invalid("The request names no model (model_spec.name).");
    }
    return new ModelChoice(
        spec.getName(),
        spec.hasVersion() ? spec.getVersion().getValue() : -1,
        spec.getVersionLabel(),
        spec.getSignatureName());
  }

  private static ModelSpec spec(ModelSpec asked, long version, String signature) {
    return ModelSpec.newBuilder()
        .setName(asked.getName())
        .setVersion(Int64Value.of(version))
        .setSignatureName(signature)
        .build();
  }

  private PredictResponse predict(PredictRequest request) {
    return models.answer(
        choice(request.getModelSpec()),
        "predict",
        API,
        target -> {
          ModelSignature s = target.signature();
          Tensor[] outputs = ServedModels.predict(target, s, decoded(request));
          try {
            return response(request, target.version(), s, outputs);
          } finally {
            for (Tensor t : outputs) {
              t.close();
            }
          }
        });
  }

  private static Map<String, Tensor> decoded(PredictRequest request) {
    Map<String, Tensor> inputs = new HashMap<>();
    String name = "";
    try {
      for (Map.Entry<String, TensorProto> e : request.getInputsMap().entrySet()) {
        name = e.getKey();
        inputs.put(name, TensorCodec.decode(e.getValue()));
      }
      return inputs;
    } catch (MillraceException e) {
      inputs.values().forEach(Tensor::close);
      throw e.withMessage("Input '" + name + "': " + e.getMessage());
    }
  }

  private static PredictResponse response(
      PredictRequest request, long version, ModelSignature s, Tensor[] outputs) {
    PredictResponse.Builder b =
        PredictResponse.newBuilder().setModelSpec(spec(request.getModelSpec(), version, s.name()));
    List<String> filter = request.getOutputFilterList();
    filter.forEach(s::output);
    for (int i = 0; i < outputs.length; i++) {
      String name = s.outputs().get(i).name();
      if (filter.isEmpty() || filter.contains(name)) {
        b.putOutputs(name, TensorCodec.encodeConstant(outputs[i]));
      }
    }
    return b.build();
  }

  private static List<Example> examples(Input input) {
    if (!input.hasExampleListWithContext()) {
      return input.getExampleList().getExamplesList();
    }
    ExampleListWithContext list = input.getExampleListWithContext();
    return list.getExamplesList().stream()
        .map(e -> list.getContext().toBuilder().mergeFrom(e).build())
        .toList();
  }

  private ClassificationResponse classify(ClassificationRequest request) {
    return models.answer(
        choice(request.getModelSpec()),
        "classify",
        API,
        t ->
            ClassificationResponse.newBuilder()
                .setResult(ExampleCalls.classify(t, examples(request.getInput())))
                .setModelSpec(spec(request.getModelSpec(), t.version(), t.signature().name()))
                .build());
  }

  private RegressionResponse regress(RegressionRequest request) {
    return models.answer(
        choice(request.getModelSpec()),
        "regress",
        API,
        t ->
            RegressionResponse.newBuilder()
                .setResult(ExampleCalls.regress(t, examples(request.getInput())))
                .setModelSpec(spec(request.getModelSpec(), t.version(), t.signature().name()))
                .build());
  }

  private GetModelMetadataResponse metadata(GetModelMetadataRequest request) {
    if (!request.getMetadataFieldList().equals(List.of(SIGNATURES))) {
      throw MillraceException.invalid(
          "The only metadata_field there is is '%s'; the request has %s.",
          SIGNATURES, request.getMetadataFieldList());
    }
    Map.Entry<Long, Map<String, SignatureDef>> found =
        models.metadata(choice(request.getModelSpec()), API);
    return GetModelMetadataResponse.newBuilder()
        .setModelSpec(spec(request.getModelSpec(), found.getKey(), ""))
        .putMetadata(
            SIGNATURES,
            Any.pack(SignatureDefMap.newBuilder().putAllSignatureDef(found.getValue()).build()))
        .build();
  }

  private GetModelStatusResponse status(GetModelStatusRequest request) {
    GetModelStatusResponse.Builder b = GetModelStatusResponse.newBuilder();
    for (VersionStatus v : models.status(choice(request.getModelSpec()))) {
      b.addModelVersionStatus(
          ModelVersionStatus.newBuilder()
              .setVersion(v.version())
              .setStateValue(v.state().number())
              .setStatus(
                  StatusProto.newBuilder()
                      .setErrorCode(v.code().number())
                      .setErrorMessage(v.error())));
    }
    return b.build();
  }
}
