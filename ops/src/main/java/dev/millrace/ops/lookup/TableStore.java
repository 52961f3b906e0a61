package dev.millrace.ops.lookup;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Where a table keeps its entries. */
interface TableStore {
  /** The value of a key, or null. */
  Object get(Object key);

  /** Adds an entry or puts it in the place of the one with this key. */
  void put(Object key, Object value);

  void remove(Object key);

  int size();

  /** Makes room for {@code more} entries. */
  default void expect(long more) {}

  /** Replaces all entries by these; both lists are as exported. */
  void load(List<Object> keys, List<Object> values);

  /** Adds all entries to two lists, as they are exported. */
  void export(List<Object> keys, List<Object> values);

  /** A store in a map, in insertion order. */
  final class Mapped implements TableStore {
    private final Map<Object, Object> entries = new LinkedHashMap<>();

    @Override
    public Object get(Object key) {
      return entries.get(key);
    }

    @Override
    public void put(Object key, Object value) {
      entries.put(key, value);
    }

    @Override
    public void remove(Object key) {
      entries.remove(key);
    }

    @Override
    public int size() {
      return entries.size();
    }

    @Override
    public void load(List<Object> keys, List<Object> values) {
      entries.clear();
      for (int i = 0; i < keys.size(); i++) {
        entries.put(keys.get(i), values.get(i));
      }
    }

    @Override
    public void export(List<Object> keys, List<Object> values) {
      keys.addAll(entries.keySet());
      values.addAll(entries.values());
    }
  }
}
