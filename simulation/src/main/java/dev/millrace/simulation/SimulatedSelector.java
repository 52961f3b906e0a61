package dev.millrace.simulation;

import java.io.IOException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * A selector that waits in simulated time.
 *
 * <p>Threading: the threads of its simulation; one selects.
 */
final class SimulatedSelector extends AbstractSelector {
  private final Simulation simulation;
  private final Runnable closed;
  private final Set<SimulatedKey> keys = new LinkedHashSet<>();
  private final Set<SelectionKey> selected = new LinkedHashSet<>();
  private Thread waiting;
  private boolean woken;

  SimulatedSelector(SelectorProvider provider, Simulation simulation, Runnable closed) {
    super(provider);
    this.simulation = simulation;
    this.closed = closed;
  }

  /** A channel has changed. */
  void signal() {
    if (waiting != null) {
      LockSupport.unpark(waiting);
    }
  }

  @Override
  protected SelectionKey register(AbstractSelectableChannel channel, int ops, Object attachment) {
    SimulatedKey key =
        switch (channel) {
          case SimulatedSocketChannel s -> s.newKey(this);
          case SimulatedServerChannel s -> s.newKey(this);
          default -> throw new IllegalArgumentException("not a simulated channel: " + channel);
        };
    key.interestOps(ops);
    key.attach(attachment);
    keys.add(key);
    return key;
  }

  private int look() {
    requireOpen();
    for (SelectionKey k : cancelledKeys()) {
      drop((SimulatedKey) k);
    }
    cancelledKeys().clear();
    int n = 0;
    for (SimulatedKey k : keys) {
      if (k.isValid() && k.look()) {
        selected.add(k);
        n++;
      }
    }
    return n;
  }

  private void drop(SimulatedKey key) {
    keys.remove(key);
    selected.remove(key);
    key.drop();
    deregister(key);
  }

  private void requireOpen() {
    if (!isOpen()) {
      throw new ClosedSelectorException();
    }
  }

  @Override
  public int selectNow() {
    woken = false;
    return look();
  }

  @Override
  public int select() throws IOException {
    return select(0);
  }

  /** Waits for a ready channel at most this long; 0 waits without a limit. */
  @Override
  public int select(long timeoutMillis) throws IOException {
    long nanos = timeoutMillis == 0 ? Long.MAX_VALUE : TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    long end = simulation.now() + nanos;
    waiting = Thread.currentThread();
    try {
      while (true) {
        int n = look();
        boolean late = end > 0 && simulation.now() >= end;
        if (n > 0 || woken || late || waiting.isInterrupted()) {
          woken = false;
          return n;
        }
        simulation.park(this, end > 0 ? end - simulation.now() : nanos);
      }
    } finally {
      waiting = null;
    }
  }

  @Override
  public int selectNow(Consumer<SelectionKey> action) {
    selected.clear();
    return give(selectNow(), action);
  }

  @Override
  public int select(Consumer<SelectionKey> action) throws IOException {
    return select(action, 0);
  }

  /** The JDK's own way gives the keys in an order that differs from run to run. */
  @Override
  public int select(Consumer<SelectionKey> action, long timeoutMillis) throws IOException {
    selected.clear();
    return give(select(timeoutMillis), action);
  }

  private int give(int n, Consumer<SelectionKey> action) {
    List.copyOf(selected).forEach(action);
    return n;
  }

  @Override
  public Selector wakeup() {
    woken = true;
    signal();
    return this;
  }

  @Override
  public Set<SelectionKey> keys() {
    requireOpen();
    return Collections.unmodifiableSet(keys);
  }

  @Override
  public Set<SelectionKey> selectedKeys() {
    requireOpen();
    return selected;
  }

  @Override
  protected void implCloseSelector() {
    wakeup();
    for (SimulatedKey k : List.copyOf(keys)) {
      k.cancel();
      drop(k);
    }
    closed.run();
  }
}
