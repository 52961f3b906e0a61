package dev.millrace.ops.queue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.resource.Resources;
import dev.millrace.ops.waiting.Waiter;
import dev.millrace.ops.waiting.WaitingRoom;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.StridedCopy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * A map from keys to tuples of tensors that arrive one component at a time. A tuple that is whole
 * can be taken; those whose keys came with an earlier insertion go first.
 *
 * <p>Threading: any thread.
 */
final class Barrier implements Resources.Resource {
  /** A tuple, and the number of the insertion that its key came with. */
  private static final class Entry {
    private final long index;
    private final byte[] key;
    private final Tensor[] components;

    /** The place among all that have become whole. */
    private long whole;

    Entry(long index, byte[] key, int size) {
      this.index = index;
      this.key = key;
      this.components = new Tensor[size];
    }

    long index() {
      return index;
    }

    long whole() {
      return whole;
    }

    Tensor[] components() {
      return components;
    }
  }

  private final QueueSpec spec;
  private final WaitingRoom.Line taking = new WaitingRoom.Line("Dequeue");
  private final WaitingRoom room = new WaitingRoom(this, taking);

  // Guarded by this.
  private final Map<ByteBuffer, Entry> incomplete = new HashMap<>();
  private final TreeSet<Entry> ready =
      new TreeSet<>(Comparator.comparingLong(Entry::index).thenComparingLong(Entry::whole));
  private long insertions = Long.MIN_VALUE;
  private long completed;
  private boolean isClosed;
  private boolean isCancelled;

  Barrier(QueueSpec spec) {
    this.spec = spec;
  }

  @Override
  public String kind() {
    return spec.kind();
  }

  QueueSpec spec() {
    return spec;
  }

  synchronized int readySize() {
    return ready.size();
  }

  synchronized int incompleteSize() {
    return incomplete.size();
  }

  /** Gives the tuple of each key its component {@code component}: a row of {@code values}. */
  void insert(Tensor keys, int component, Tensor values) {
    check(keys, component, values);
    synchronized (this) {
      long index = insertions++;
      for (int i = 0; i < keys.elements(); i++) {
        insertOne(index, keys.bytesAt(i), i, component, values);
      }
    }
    room.serve();
  }

  private void check(Tensor keys, int component, Tensor values) {
    if (component < 0 || component >= spec.types().size()) {
      throw MillraceException.invalid(
          "The component ID is out of range %d > num_components (= %d)",
          component, spec.types().size());
    }
    if (values.dtype() != spec.types().get(component)) {
      throw MillraceException.invalid(
          "Component %d of barrier '%s' is %s; the values are %s.",
          component, spec.name(), spec.types().get(component), values.dtype());
    }
    if (keys.shape().rank() != 1 || values.shape().rank() < 1) {
      throw MillraceException.invalid(
          "The keys must be a vector and the values have a row for each; they are %s and %s.",
          keys.shape(), values.shape());
    }
    if (values.shape().dim(0) != keys.elements()) {
      throw MillraceException.invalid(
          "Number of keys (%d) differs from that of values (%d).",
          keys.elements(), values.shape().dim(0));
    }
    Shape row = values.shape().slice(1, values.shape().rank());
    if (!spec.shapes().isEmpty() && !spec.shapes().get(component).isCompatibleWith(row)) {
      throw MillraceException.invalid(
          "Shape mismatch in tuple component %d. Expected %s, got %s",
          component, spec.shapes().get(component), row);
    }
  }

  private void insertOne(long index, byte[] key, int position, int component, Tensor values) {
    Entry entry = incomplete.get(ByteBuffer.wrap(key));
    if (isClosed && (isCancelled || entry == null)) {
      throw new MillraceException(
          Code.CANCELLED,
          ("Barrier %s is closed, but attempted to insert a brand new key: %s.  Pending inserts"
                  + " cancelled: %d.  Insertion index: %d.  Number of incomplete keys: %d.")
              .formatted(
                  spec.name(),
                  new String(key, StandardCharsets.UTF_8),
                  isCancelled ? 1 : 0,
                  position,
                  incomplete.size()));
    }
    if (entry == null) {
      entry = new Entry(index, key, spec.types().size());
      incomplete.put(ByteBuffer.wrap(key), entry);
    }
    if (entry.components[component] != null) {
      throw MillraceException.invalid(
          "Key %s already has a value for component %d in barrier %s",
          new String(key, StandardCharsets.UTF_8), component, spec.name());
    }
    entry.components[component] = row(values, position);
    for (Tensor t : entry.components) {
      if (t == null) {
        return;
      }
    }
    incomplete.remove(ByteBuffer.wrap(key));
    entry.whole = completed++;
    ready.add(entry);
  }

  private static Tensor row(Tensor values, int i) {
    Shape shape = values.shape().slice(1, values.shape().rank());
    long n = shape.elements();
    if (values.dtype() == DType.STRING) {
      Object[] strings = new Object[Math.toIntExact(n)];
      for (int k = 0; k < strings.length; k++) {
        strings[k] = values.bytesAt(i * n + k);
      }
      return Refs.ofObjects(DType.STRING, shape, strings);
    }
    Tensor row = Refs.allocate(values.dtype(), shape);
    StridedCopy.copyRun(values, i * n, row, 0, n);
    return row;
  }

  /** Gives the outputs of {@code c} the numbers, keys and components of {@code n} tuples. */
  void take(KernelContext c, int n, boolean orFewer, boolean waits, Runnable done) {
    room.enter(taking, new Take(c, n, orFewer, waits, done));
  }

  /** Takes no new keys any more, and with {@code cancelPending} no components either. */
  void close(boolean cancelPending) {
    synchronized (this) {
      if (isClosed && (isCancelled || !cancelPending)) {
        throw new MillraceException(
            Code.CANCELLED, "Barrier '%s' is already closed.".formatted(spec.name()));
      }
      isClosed = true;
      if (cancelPending) {
        isCancelled = true;
        incomplete.values().forEach(Barrier::release);
        incomplete.clear();
      }
    }
    room.serve();
  }

  private static void release(Entry entry) {
    for (Tensor t : entry.components) {
      if (t != null) {
        Refs.release(t);
      }
    }
  }

  @Override
  public void close() {
    room.failAll(
        taking,
        new MillraceException(Code.CANCELLED, "Barrier '%s' was removed.".formatted(spec.name())));
    synchronized (this) {
      isClosed = true;
      isCancelled = true;
      incomplete.values().forEach(Barrier::release);
      incomplete.clear();
      ready.forEach(Barrier::release);
      ready.clear();
    }
  }

  private final class Take extends Waiter {
    private final int wanted;
    private final boolean orFewer;
    private final boolean waits;
    private final List<Entry> taken = new ArrayList<>();

    Take(KernelContext c, int wanted, boolean orFewer, boolean waits, Runnable done) {
      super(c, done);
      this.wanted = wanted;
      this.orFewer = orFewer;
      this.waits = waits;
    }

    @Override
    protected Progress advance() {
      int n = wanted;
      if (isClosed) {
        int most = ready.size() + (waits ? incomplete.size() : 0);
        n = orFewer ? Math.min(wanted, most) : wanted;
        if (most < Math.max(n, 1)) {
          failWith(
              new MillraceException(
                  Code.OUT_OF_RANGE,
                  "Barrier '%s' is closed and has insufficient elements (requested %d, total size %d)"
                      .formatted(spec.name(), n, most)));
          return Progress.DONE;
        }
      }
      if (ready.size() < n) {
        return Progress.NONE;
      }
      while (taken.size() < n) {
        taken.add(ready.pollFirst());
      }
      return Progress.DONE;
    }

    @Override
    protected void undo() {
      ready.addAll(taken);
      taken.clear();
    }

    @Override
    protected void deliver() {
      KernelContext c = context();
      Shape many = Shape.of(taken.size());
      try {
        Tensor indices = c.allocate(0, many);
        Object[] keys = new Object[taken.size()];
        for (int i = 0; i < keys.length; i++) {
          indices.setLong(i, taken.get(i).index);
          keys[i] = taken.get(i).key;
        }
        c.output(1, Refs.ofObjects(DType.STRING, many, keys));
        List<Tensor[]> elements = taken.stream().map(Entry::components).toList();
        for (int k = 0; k < spec.types().size(); k++) {
          c.output(2 + k, Batch.stack(spec, k, elements));
        }
      } finally {
        taken.forEach(Barrier::release);
      }
    }
  }
}
