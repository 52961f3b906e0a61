package dev.millrace.simulation;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Who waits for a simulated channel: selectors, and threads in blocking calls. */
final class ChannelWaiters {
  private final Simulation simulation;
  private final AbstractSelectableChannel channel;
  private final List<SimulatedKey> keys = new ArrayList<>();
  private final List<Thread> threads = new ArrayList<>();

  ChannelWaiters(Simulation simulation, AbstractSelectableChannel channel) {
    this.simulation = simulation;
    this.channel = channel;
  }

  void add(SimulatedKey key) {
    keys.add(key);
  }

  void remove(SimulatedKey key) {
    keys.remove(key);
  }

  /** Something has changed: all who wait look again. */
  void signal() {
    keys.forEach(k -> k.simulatedSelector().signal());
    threads.forEach(LockSupport::unpark);
  }

  /** Blocks the calling thread until {@code condition} is true, at most this long. */
  void await(BooleanSupplier condition, long nanos) throws IOException {
    long end = simulation.now() + nanos;
    Thread self = Thread.currentThread();
    threads.add(self);
    try {
      while (!condition.getAsBoolean()) {
        if (!channel.isOpen()) {
          throw new AsynchronousCloseException();
        }
        if (self.isInterrupted()) {
          channel.close();
          throw new ClosedByInterruptException();
        }
        if (end > 0 && simulation.now() >= end) {
          throw new SocketTimeoutException("Connect timed out");
        }
        simulation.park(channel, nanos);
      }
    } finally {
      threads.remove(self);
    }
  }
}
