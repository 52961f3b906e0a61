package dev.millrace.simulation;

import java.io.IOException;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;
import java.util.concurrent.TimeUnit;

/** A simulated channel as {@link Socket}: it connects with a time limit, and does nothing else. */
final class ConnectingSocket extends Socket {
  private final SimulatedSocketChannel channel;

  ConnectingSocket(SimulatedSocketChannel channel) throws SocketException {
    super((SocketImpl) null);
    this.channel = channel;
  }

  /** Connects within this time; 0 waits without a limit. */
  @Override
  public void connect(SocketAddress address, int timeoutMillis) throws IOException {
    long nanos = timeoutMillis == 0 ? Long.MAX_VALUE : TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    try {
      channel.connectWithin(address, nanos);
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }
}
