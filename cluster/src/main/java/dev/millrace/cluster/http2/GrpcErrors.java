package dev.millrace.cluster.http2;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Between our errors and gRPC's statuses: the codes are the same. */
public final class GrpcErrors {
  private static final int MAX_MESSAGE = 3072;
  private static final String DERIVED = "[_Derived_]";

  /** Beside an error that a peer of ours has sent, as against one of the connection to it. */
  static final Metadata.Key<String> ANSWERED =
      Metadata.Key.of("millrace-answered", Metadata.ASCII_STRING_MARSHALLER);

  /** How gRPC says that a deadline of ours has passed. */
  private static final Pattern LATE = Pattern.compile("deadline exceeded after ([0-9.]+)s");

  private GrpcErrors() {}

  public static StatusRuntimeException encode(Throwable t) {
    MillraceException e = MillraceException.of(t);
    Metadata trailers = new Metadata();
    trailers.put(ANSWERED, "yes");
    return Status.fromCodeValue(e.code().number())
        .withDescription(cut(message(e)))
        .asRuntimeException(trailers);
  }

  /** The message as it travels: an echo is marked the way TensorFlow 1.15 marks it. */
  public static String message(MillraceException e) {
    String m = String.valueOf(e.getMessage());
    return e.isDerived() && !m.startsWith(DERIVED) ? DERIVED + m : m;
  }

  static String cut(String m) {
    return m.length() <= MAX_MESSAGE ? m : m.substring(0, MAX_MESSAGE) + " ... [truncated]";
  }

  public static MillraceException decode(Code code, String message) {
    boolean derived = message.startsWith(DERIVED);
    MillraceException e =
        new MillraceException(code, derived ? message.substring(DERIVED.length()) : message);
    return derived ? e.asDerived() : e;
  }

  /** Whether a task of ours has said so, and not the connection to it. */
  public static boolean isAnswer(Throwable t) {
    return t instanceof StatusRuntimeException s
        && s.getTrailers() != null
        && s.getTrailers().containsKey(ANSWERED);
  }

  /** The error of a call to {@code peer}; losing the connection is the peer's own failure. */
  public static MillraceException decode(Throwable t, String peer) {
    if (t instanceof StatusRuntimeException s) {
      Status st = s.getStatus();
      Code code = Code.of(st.getCode().value());
      String text = st.getDescription() == null ? st.getCode().name() : st.getDescription();
      boolean answered = isAnswer(s);
      boolean cut =
          text.equals("Stream removed")
              || text.equals("channel closed")
              || st.getCause() instanceof java.io.IOException;
      if (!answered && (code == Code.UNAVAILABLE || (code == Code.UNKNOWN && cut))) {
        return new MillraceException(
            Code.UNAVAILABLE, peer + " cannot be reached: " + why(text, st.getCause()), t);
      }
      Matcher late = LATE.matcher(text);
      if (!answered && code == Code.DEADLINE_EXCEEDED && late.find()) {
        double seconds = Double.parseDouble(late.group(1));
        String said = String.format(Locale.ROOT, "%s did not answer within %.1f s", peer, seconds);
        return new MillraceException(code, said, t);
      }
      return decode(code, text);
    }
    return MillraceException.of(t);
  }

  /** What gRPC says, which is often no more than that there was a cause. */
  private static String why(String text, Throwable cause) {
    if (cause == null || cause.getMessage() == null) {
      return text;
    }
    return text.equalsIgnoreCase("io exception")
        ? cause.getMessage()
        : text + " (" + cause.getMessage() + ")";
  }

  /** The error that a call to {@code peer} ended with, by its status. */
  public static MillraceException decode(
      int status, String message, boolean answered, String peer) {
    Code code = Code.of(status);
    String text = message.isEmpty() ? code.name() : message;
    return code == Code.UNAVAILABLE && !answered
        ? new MillraceException(code, peer + " cannot be reached: " + text)
        : decode(code, text);
  }

  /** A message in the form in which gRPC puts it among the headers. */
  static String percentEncoded(String m) {
    StringBuilder b = new StringBuilder(m.length() + 16);
    for (byte c : m.getBytes(StandardCharsets.UTF_8)) {
      if (c >= ' ' && c <= '~' && c != '%') {
        b.append((char) c);
      } else {
        b.append(String.format(Locale.ROOT, "%%%02X", c & 0xFF));
      }
    }
    return b.toString();
  }

  /** The reverse of {@link #percentEncoded}; what is not encoded properly stays as it is. */
  static String percentDecoded(String m) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(m.length());
    for (int i = 0; i < m.length(); i++) {
      char c = m.charAt(i);
      boolean coded =
          c == '%'
              && i + 2 < m.length()
              && Character.digit(m.charAt(i + 1), 16) >= 0
              && Character.digit(m.charAt(i + 2), 16) >= 0;
      bytes.write(coded ? Integer.parseInt(m, i + 1, i + 3, 16) : c);
      i += coded ? 2 : 0;
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }
}
