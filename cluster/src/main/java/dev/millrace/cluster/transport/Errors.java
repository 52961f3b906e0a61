package dev.millrace.cluster.transport;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;

/** Between our errors and gRPC's statuses: the codes are the same. */
final class Errors {
  private static final int MAX_MESSAGE = 3072;
  private static final String DERIVED = "[_Derived_]";

  /** Beside an error that a peer of ours has sent, as against one of the connection to it. */
  private static final Metadata.Key<String> ANSWERED =
      Metadata.Key.of("millrace-answered", Metadata.ASCII_STRING_MARSHALLER);

  private Errors() {}

  static StatusRuntimeException encode(Throwable t) {
    MillraceException e = MillraceException.of(t);
    Metadata trailers = new Metadata();
    trailers.put(ANSWERED, "yes");
    return Status.fromCodeValue(e.code().number())
        .withDescription(cut(message(e)))
        .asRuntimeException(trailers);
  }

  /** The message as it travels: an echo is marked the way TensorFlow 1.15 marks it. */
  static String message(MillraceException e) {
    String m = String.valueOf(e.getMessage());
    return e.isDerived() && !m.startsWith(DERIVED) ? DERIVED + m : m;
  }

  static String cut(String m) {
    return m.length() <= MAX_MESSAGE ? m : m.substring(0, MAX_MESSAGE) + " ... [truncated]";
  }

  static MillraceException decode(Code code, String message) {
    boolean derived = message.startsWith(DERIVED);
    MillraceException e =
        new MillraceException(code, derived ? message.substring(DERIVED.length()) : message);
    return derived ? e.asDerived() : e;
  }

  /** The error of a call to {@code peer}; losing the connection is the peer's own failure. */
  static MillraceException decode(Throwable t, String peer) {
    if (t instanceof StatusRuntimeException s) {
      Status st = s.getStatus();
      Code code = Code.of(st.getCode().value());
      String text = st.getDescription() == null ? st.getCode().name() : st.getDescription();
      boolean answered = s.getTrailers() != null && s.getTrailers().containsKey(ANSWERED);
      boolean cut =
          text.equals("Stream removed")
              || text.equals("channel closed")
              || st.getCause() instanceof java.io.IOException;
      if (!answered && (code == Code.UNAVAILABLE || (code == Code.UNKNOWN && cut))) {
        String cause = st.getCause() == null ? "" : " (" + st.getCause().getMessage() + ")";
        return new MillraceException(
            Code.UNAVAILABLE, peer + " cannot be reached: " + text + cause, t);
      }
      return decode(code, text);
    }
    return MillraceException.of(t);
  }
}
