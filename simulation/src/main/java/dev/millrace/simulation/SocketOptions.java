package dev.millrace.simulation;

import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** The options of a simulated socket: they are kept, and change nothing. */
final class SocketOptions {
  static final Set<SocketOption<?>> ALL =
      Set.of(
          StandardSocketOptions.SO_REUSEADDR,
          StandardSocketOptions.SO_RCVBUF,
          StandardSocketOptions.SO_SNDBUF,
          StandardSocketOptions.SO_KEEPALIVE,
          StandardSocketOptions.TCP_NODELAY);

  private final Map<SocketOption<?>, Object> values = new HashMap<>();

  <T> void set(SocketOption<T> name, T value) {
    if (!ALL.contains(name)) {
      throw new UnsupportedOperationException("A simulated socket has no option " + name + ".");
    }
    values.put(name, value);
  }

  /** Null if it has not been set. */
  <T> T get(SocketOption<T> name) {
    return name.type().cast(values.get(name));
  }
}
