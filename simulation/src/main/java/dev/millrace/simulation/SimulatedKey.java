package dev.millrace.simulation;

import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectionKey;
import java.util.function.IntSupplier;

/** A simulated channel in a simulated selector. */
final class SimulatedKey extends AbstractSelectionKey {
  private final SelectableChannel channel;
  private final SimulatedSelector selector;
  private final ChannelWaiters waiters;
  private final IntSupplier readyOps;
  private int interest;
  private int found;

  SimulatedKey(
      SelectableChannel channel,
      SimulatedSelector selector,
      ChannelWaiters waiters,
      IntSupplier readyOps) {
    this.channel = channel;
    this.selector = selector;
    this.waiters = waiters;
    this.readyOps = readyOps;
    waiters.add(this);
  }

  SimulatedSelector simulatedSelector() {
    return selector;
  }

  /** Looks what is ready now; returns whether anything of interest is. */
  boolean look() {
    found = channel.isOpen() ? readyOps.getAsInt() & interest : 0;
    return found != 0;
  }

  void drop() {
    waiters.remove(this);
  }

  @Override
  public SelectableChannel channel() {
    return channel;
  }

  @Override
  public Selector selector() {
    return selector;
  }

  @Override
  public int interestOps() {
    requireValid();
    return interest;
  }

  @Override
  public SelectionKey interestOps(int ops) {
    requireValid();
    interest = ops;
    return this;
  }

  @Override
  public int readyOps() {
    requireValid();
    return found;
  }

  private void requireValid() {
    if (!isValid()) {
      throw new CancelledKeyException();
    }
  }
}
