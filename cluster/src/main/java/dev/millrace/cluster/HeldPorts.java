package dev.millrace.cluster;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/**
 * Free ports of the loopback address, reserved for processes yet to be started. A port is held by a
 * socket that is bound but never listens: the kernel gives it to nobody who asks for any free port,
 * while a server that asks for this very one gets it. So there is no moment in which it could be
 * taken by somebody else.
 */
public final class HeldPorts implements AutoCloseable {
  private final List<Socket> sockets = new ArrayList<>();

  private HeldPorts() {}

  /** Reserves {@code n} ports until this is closed. */
  public static HeldPorts take(int n) {
    HeldPorts held = new HeldPorts();
    try {
      for (int i = 0; i < n; i++) {
        Socket s = new Socket();
        held.sockets.add(s);
        s.setReuseAddress(true);
        s.bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0));
      }
      return held;
    } catch (IOException e) {
      held.close();
      throw new MillraceException(
          Code.RESOURCE_EXHAUSTED,
          "Cannot reserve " + n + " ports of 127.0.0.1: " + e.getMessage() + ".",
          e);
    }
  }

  /** The addresses with these ports, {@code host:port}. */
  public List<String> addresses() {
    return sockets.stream().map(s -> "127.0.0.1:" + s.getLocalPort()).toList();
  }

  @Override
  public void close() {
    for (Socket s : sockets) {
      try {
        s.close();
      } catch (IOException e) {
        // Nothing is held by a socket that does not close.
      }
    }
  }
}
