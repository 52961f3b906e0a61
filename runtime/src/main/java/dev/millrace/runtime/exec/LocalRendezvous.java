package dev.millrace.runtime.exec;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Rendezvous;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Predicate;

/**
 * The meeting place of one step within one process. A step that has parts in other processes
 * extends it by the ways to them.
 *
 * <p>Threading: any thread; receivers are called outside the lock.
 */
public class LocalRendezvous implements Rendezvous {
  private record Sent(Tensor value, boolean dead) {}

  /** Under one key there are values that wait for receivers, or receivers that wait, never both. */
  private static final class Meeting {
    final ArrayDeque<Sent> values = new ArrayDeque<>(2);
    final ArrayDeque<Receiver> receivers = new ArrayDeque<>(2);

    boolean isEmpty() {
      return values.isEmpty() && receivers.isEmpty();
    }
  }

  private final Map<String, Meeting> meetings = new HashMap<>();
  private MillraceException aborted;

  @Override
  public void send(Key key, Tensor value, boolean dead) {
    Receiver waiting = null;
    synchronized (this) {
      if (aborted == null) {
        Meeting m = meetings.computeIfAbsent(key.full(), k -> new Meeting());
        waiting = m.receivers.poll();
        if (waiting == null) {
          m.values.add(new Sent(value, dead));
          return;
        }
        if (m.isEmpty()) {
          meetings.remove(key.full());
        }
      }
    }
    if (waiting != null) {
      waiting.received(value, dead);
    } else if (value != null) {
      Refs.release(value);
    }
  }

  @Override
  public void recv(Key key, Receiver receiver) {
    Sent sent = null;
    MillraceException failure;
    synchronized (this) {
      failure = aborted;
      if (failure == null) {
        Meeting m = meetings.computeIfAbsent(key.full(), k -> new Meeting());
        sent = m.values.poll();
        if (sent == null) {
          m.receivers.add(receiver);
          return;
        }
        if (m.isEmpty()) {
          meetings.remove(key.full());
        }
      }
    }
    if (failure != null) {
      receiver.failed(failure);
    } else {
      receiver.received(sent.value, sent.dead);
    }
  }

  /**
   * Takes the value sent under {@code key}, which the caller releases. Fails if it has not been
   * sent, or is dead.
   */
  public final Tensor take(Key key) {
    Sent sent = null;
    synchronized (this) {
      if (aborted != null) {
        throw aborted;
      }
      Meeting m = meetings.get(key.full());
      if (m != null) {
        sent = m.values.poll();
        if (m.isEmpty()) {
          meetings.remove(key.full());
        }
      }
    }
    if (sent == null || sent.dead || sent.value == null) {
      throw StepFailures.noValue(StepFailures.fetched(key.tensorName()));
    }
    return sent.value;
  }

  /** Removes a waiting receiver; false if it has already been served. */
  public final synchronized boolean withdraw(Key key, Receiver receiver) {
    Meeting m = meetings.get(key.full());
    boolean waited = m != null && m.receivers.remove(receiver);
    if (waited && m.isEmpty()) {
      meetings.remove(key.full());
    }
    return waited;
  }

  @Override
  public void abort(MillraceException cause) {
    List<Receiver> waiting = new ArrayList<>();
    synchronized (this) {
      if (aborted != null) {
        return;
      }
      aborted = cause;
      for (Meeting m : meetings.values()) {
        waiting.addAll(m.receivers);
        for (Sent s : m.values) {
          if (s.value != null) {
            Refs.release(s.value);
          }
        }
      }
      meetings.clear();
    }
    for (Receiver r : waiting) {
      r.failed(cause);
    }
  }

  /** Takes out the values waiting under the keys that are wanted; null stands for a dead one. */
  public final void drain(Predicate<String> wanted, BiConsumer<String, Tensor> taker) {
    List<Map.Entry<String, Sent>> taken = new ArrayList<>();
    synchronized (this) {
      for (Map.Entry<String, Meeting> e : meetings.entrySet()) {
        if (!e.getValue().values.isEmpty() && wanted.test(e.getKey())) {
          e.getValue().values.forEach(s -> taken.add(Map.entry(e.getKey(), s)));
          e.getValue().values.clear();
        }
      }
      meetings.values().removeIf(Meeting::isEmpty);
    }
    taken.forEach(e -> taker.accept(e.getKey(), e.getValue().value));
  }

  /** How many keys have a value or a receiver waiting. */
  public final synchronized int size() {
    return meetings.size();
  }

  /** The keys somebody waits under, for messages about a step that does not end. */
  public final synchronized List<String> awaited() {
    return meetings.entrySet().stream()
        .filter(e -> !e.getValue().receivers.isEmpty())
        .map(Map.Entry::getKey)
        .sorted()
        .toList();
  }
}
