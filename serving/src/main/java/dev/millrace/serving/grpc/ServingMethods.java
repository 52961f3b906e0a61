package dev.millrace.serving.grpc;

import com.google.protobuf.Message;
import dev.millrace.cluster.http2.MessageMarshaller;
import dev.millrace.proto.serving.ClassificationRequest;
import dev.millrace.proto.serving.ClassificationResponse;
import dev.millrace.proto.serving.GetModelMetadataRequest;
import dev.millrace.proto.serving.GetModelMetadataResponse;
import dev.millrace.proto.serving.GetModelStatusRequest;
import dev.millrace.proto.serving.GetModelStatusResponse;
import dev.millrace.proto.serving.PredictRequest;
import dev.millrace.proto.serving.PredictResponse;
import dev.millrace.proto.serving.RegressionRequest;
import dev.millrace.proto.serving.RegressionResponse;
import io.grpc.MethodDescriptor;

/** The methods of TensorFlow Serving's services that are served. */
public final class ServingMethods {
  public static final String PREDICTION = "tensorflow.serving.PredictionService";
  public static final String MODEL = "tensorflow.serving.ModelService";

  public static final MethodDescriptor<PredictRequest, PredictResponse> PREDICT =
      method(
          PREDICTION,
          "Predict",
          PredictRequest.getDefaultInstance(),
          PredictResponse.getDefaultInstance());
  public static final MethodDescriptor<ClassificationRequest, ClassificationResponse> CLASSIFY =
      method(
          PREDICTION,
          "Classify",
          ClassificationRequest.getDefaultInstance(),
          ClassificationResponse.getDefaultInstance());
  public static final MethodDescriptor<RegressionRequest, RegressionResponse> REGRESS =
      method(
          PREDICTION,
          "Regress",
          RegressionRequest.getDefaultInstance(),
          RegressionResponse.getDefaultInstance());
  public static final MethodDescriptor<GetModelMetadataRequest, GetModelMetadataResponse> METADATA =
      method(
          PREDICTION,
          "GetModelMetadata",
          GetModelMetadataRequest.getDefaultInstance(),
          GetModelMetadataResponse.getDefaultInstance());
  public static final MethodDescriptor<GetModelStatusRequest, GetModelStatusResponse> STATUS =
      method(
          MODEL,
          "GetModelStatus",
          GetModelStatusRequest.getDefaultInstance(),
          GetModelStatusResponse.getDefaultInstance());

  private ServingMethods() {}

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
