/** TensorFlow Serving's gRPC services. */
package dev.millrace.serving.grpc;
