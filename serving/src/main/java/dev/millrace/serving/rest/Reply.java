package dev.millrace.serving.rest;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.nio.charset.StandardCharsets;

/** What is answered to an HTTP request. */
record Reply(int status, String type, byte[] body) {
  static final String JSON = "application/json";
  private static final String TEXT = "text/plain; version=0.0.4; charset=utf-8";

  static Reply json(byte[] body) {
    return new Reply(200, JSON, body);
  }

  static Reply text(int status, String text) {
    return new Reply(status, TEXT, text.getBytes(StandardCharsets.UTF_8));
  }

  /** An error as TensorFlow Serving writes it. */
  static Reply error(int status, String message) {
    String escaped =
        new String(
            com.fasterxml.jackson.core.io.JsonStringEncoder.getInstance()
                .quoteAsString(String.valueOf(message)));
    return new Reply(
        status, JSON, ("{\"error\": \"" + escaped + "\"}\n").getBytes(StandardCharsets.UTF_8));
  }

  static Reply error(MillraceException e) {
    return error(status(e.code()), e.getMessage());
  }

  private static int status(Code code) {
    return switch (code) {
      case INVALID_ARGUMENT, OUT_OF_RANGE -> 400;
      case UNAUTHENTICATED -> 401;
      case PERMISSION_DENIED -> 403;
      case NOT_FOUND -> 404;
      case ABORTED, ALREADY_EXISTS -> 409;
      case FAILED_PRECONDITION -> 412;
      case RESOURCE_EXHAUSTED -> 429;
      case UNIMPLEMENTED -> 501;
      case UNAVAILABLE, CANCELLED -> 503;
      case DEADLINE_EXCEEDED -> 504;
      default -> 500;
    };
  }
}
