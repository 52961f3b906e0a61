package dev.millrace.ops.lookup;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.resource.StateJournal;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * A table from keys to values. A static one is filled once and refuses to be read before.
 *
 * <p>Threading: any thread; readers do not wait for each other.
 */
final class LookupTable implements Resources.Resource {
  private final TableSpec spec;

  /** What no key may be: of a dense table the keys for empty and deleted places. */
  private final Map<Object, String> reserved;

  private final TableStore entries;
  private final int keySize;
  private final int valueSize;
  private final ReadWriteLock lock = new ReentrantReadWriteLock();
  private boolean isInitialized;

  /** Told of every change under the lock; null where state is kept in memory only. */
  private StateJournal journal;

  LookupTable(TableSpec spec, TableStore entries, Map<Object, String> reserved) {
    this.spec = spec;
    this.entries = entries;
    this.reserved = reserved;
    this.keySize = Math.toIntExact(spec.keyShape().elements());
    this.valueSize = Math.toIntExact(spec.valueShape().elements());
    this.isInitialized = spec.kind() != TableKind.STATIC;
  }

  @Override
  public String kind() {
    return spec.kind().label;
  }

  @Override
  public void reportTo(StateJournal to) {
    locked(lock.writeLock(), () -> journal = to);
  }

  /** Under the lock. */
  private void changedBy(KernelContext c) {
    if (journal != null) {
      journal.changed(c.stepId());
    }
  }

  TableSpec spec() {
    return spec;
  }

  /** How many keys there are. */
  long size() {
    return locked(lock.readLock(), () -> (long) entries.size());
  }

  /** Gives output 0 the values of the keys, or a default where there is none. */
  void find(KernelContext c, Tensor keys, Tensor defaults) {
    boolean perKey = spec.isDefaultPerKey(keys, defaults);
    Tensor out = c.allocate(0, spec.valuesFor(keys.shape()));
    locked(
        lock.readLock(),
        () -> {
          if (!isInitialized) {
            throw MillraceException.failedPrecondition("Table not initialized.");
          }
          for (long i = 0; i < rows(keys); i++) {
            Object key = key(keys, i, true);
            Object value = entries.get(key);
            if (value == null) {
              value = Entries.read(defaults, perKey ? i : 0, valueSize);
            }
            Entries.write(out, i, valueSize, value);
          }
          return null;
        });
  }

  /** Fills a static table; one that is filled already must have as many keys. */
  void initialize(KernelContext c, Map<Object, Object> given) {
    checkKind(true, "be initialized");
    locked(
        lock.writeLock(),
        () -> {
          if (isInitialized && entries.size() != given.size()) {
            throw MillraceException.failedPrecondition(
                "Table was already initialized with different data.");
          }
          if (!isInitialized) {
            given.forEach(entries::put);
            isInitialized = true;
            changedBy(c);
          }
          return null;
        });
  }

  /** Adds values or puts them in the place of others. */
  void insert(KernelContext c, Tensor keys, Tensor values) {
    checkKind(false, "insert");
    spec.checkValues(keys, values);
    locked(
        lock.writeLock(),
        () -> {
          // No entry is added if one of the keys is refused.
          List<Object> checked = keys(keys, true);
          entries.expect(checked.size());
          for (int i = 0; i < checked.size(); i++) {
            entries.put(checked.get(i), Entries.read(values, i, valueSize));
          }
          changedBy(c);
          return null;
        });
  }

  /** Replaces all entries by those that a table has exported. */
  void load(KernelContext c, Tensor keys, Tensor values) {
    if (spec.kind() == TableKind.DENSE) {
      spec.checkExported(keys, values);
    } else {
      spec.checkValues(keys, values);
    }
    List<Object> loaded = new ArrayList<>();
    for (long i = 0; i < rows(keys); i++) {
      loaded.add(Entries.read(values, i, valueSize));
    }
    locked(
        lock.writeLock(),
        () -> {
          entries.load(keys(keys, false), loaded);
          changedBy(c);
          return null;
        });
  }

  /** Removes the keys that are there. */
  void remove(KernelContext c, Tensor keys) {
    checkKind(false, "remove");
    spec.checkKeys(keys);
    locked(
        lock.writeLock(),
        () -> {
          keys(keys, true).forEach(entries::remove);
          changedBy(c);
          return null;
        });
  }

  /** Gives outputs 0 and 1 all keys and their values. */
  void export(KernelContext c) {
    List<Object> allKeys = new ArrayList<>();
    List<Object> allValues = new ArrayList<>();
    locked(
        lock.readLock(),
        () -> {
          if (!isInitialized) {
            throw new MillraceException(Code.ABORTED, "HashTable is not initialized.");
          }
          entries.export(allKeys, allValues);
          return null;
        });
    Shape n = Shape.of(allKeys.size());
    // A dense table has a dimension for the parts of keys and values, also where there is one.
    boolean isDense = spec.kind() == TableKind.DENSE;
    Tensor keys = c.allocate(0, n.concat(isDense ? Shape.of(keySize) : spec.keyShape()));
    Tensor values = c.allocate(1, n.concat(isDense ? Shape.of(valueSize) : spec.valueShape()));
    for (int i = 0; i < allKeys.size(); i++) {
      Entries.write(keys, i, keySize, allKeys.get(i));
      Entries.write(values, i, valueSize, allValues.get(i));
    }
  }

  private long rows(Tensor keys) {
    return keys.elements() / Math.max(1, keySize);
  }

  private List<Object> keys(Tensor keys, boolean areChecked) {
    List<Object> read = new ArrayList<>();
    for (long i = 0; i < rows(keys); i++) {
      read.add(key(keys, i, areChecked));
    }
    return read;
  }

  private Object key(Tensor keys, long i, boolean isChecked) {
    Object key = Entries.read(keys, i, keySize);
    String reservedAs = isChecked ? reserved.get(key) : null;
    if (reservedAs != null) {
      throw MillraceException.invalid("Using the %s as a table key is not allowed", reservedAs);
    }
    return key;
  }

  private void checkKind(boolean mustBeStatic, String what) {
    if (mustBeStatic != (spec.kind() == TableKind.STATIC)) {
      throw mustBeStatic
          ? MillraceException.invalid(
              "Table %s is a %s, which cannot %s.", spec.name(), kind(), what)
          : new MillraceException(
              Code.UNIMPLEMENTED,
              "Table %s is a %s: %s is not supported.".formatted(spec.name(), kind(), what));
    }
  }

  private interface Section<T> {
    T run();
  }

  private static <T> T locked(Lock lock, Section<T> section) {
    lock.lock();
    try {
      return section.run();
    } finally {
      lock.unlock();
    }
  }
}
