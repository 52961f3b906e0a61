package dev.millrace.ops.lookup;

import dev.millrace.base.MillraceException;
import dev.millrace.ops.text.StringHash;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The entries of a dense table, each in the place TensorFlow has it in: it exports all places, the
 * empty ones too, and takes what it imports for places again, so that a checkpoint is only good if
 * every key is where its hash says.
 */
final class Buckets implements TableStore {
  private final Object emptyKey;

  /** Stands where an entry was removed. */
  private final Object deletedKey;

  private final Object emptyValue;
  private final float maxLoad;
  private Object[] keys;
  private Object[] values;
  private int size;

  Buckets(int count, float maxLoad, Object emptyKey, Object deletedKey, Object emptyValue) {
    this.emptyKey = emptyKey;
    this.deletedKey = deletedKey;
    this.emptyValue = emptyValue;
    this.maxLoad = maxLoad;
    clear(count);
  }

  private void clear(int count) {
    keys = new Object[count];
    values = new Object[count];
    Arrays.fill(keys, emptyKey);
    Arrays.fill(values, emptyValue);
    size = 0;
  }

  @Override
  public Object get(Object key) {
    int at = find(key, false);
    return at < 0 ? null : values[at];
  }

  @Override
  public void put(Object key, Object value) {
    int at = find(key, true);
    if (!keys[at].equals(key)) {
      size++;
    }
    keys[at] = key;
    values[at] = value;
  }

  @Override
  public void remove(Object key) {
    int at = find(key, false);
    if (at >= 0) {
      keys[at] = deletedKey;
      size--;
    }
  }

  /** Where the key is, or, for one to be added, the first place that is free; else -1. */
  private int find(Object key, boolean orFree) {
    int mask = keys.length - 1;
    long at = hash(key) & mask;
    for (int probes = 1; probes <= keys.length; probes++) {
      Object there = keys[(int) at];
      if (there.equals(key)) {
        return (int) at;
      }
      boolean isEmpty = there.equals(emptyKey);
      if (orFree && (isEmpty || there.equals(deletedKey))) {
        return (int) at;
      }
      if (isEmpty) {
        return -1;
      }
      at = at + probes & mask;
    }
    if (orFree) {
      throw MillraceException.internal("MutableDenseHashTable has no place for another key.");
    }
    return -1;
  }

  private static long hash(Object key) {
    return switch (key) {
      case String s -> StringHash.murmur(s.getBytes(StandardCharsets.ISO_8859_1));
      case Double d -> d.longValue();
      case Long n -> n;
      default -> {
        long h = 0;
        for (Object part : (List<?>) key) {
          h ^= hash(part) + 0x9E3779B97F4A7800L + (h << 10) + (h >>> 4);
        }
        yield h;
      }
    };
  }

  @Override
  public int size() {
    return size;
  }

  @Override
  public void expect(long more) {
    long wanted = size + more;
    long count = keys.length;
    while (wanted > count * maxLoad) {
      count <<= 1;
    }
    if (count != keys.length) {
      Object[] oldKeys = keys;
      Object[] oldValues = values;
      clear(Math.toIntExact(count));
      for (int i = 0; i < oldKeys.length; i++) {
        if (!oldKeys[i].equals(emptyKey) && !oldKeys[i].equals(deletedKey)) {
          put(oldKeys[i], oldValues[i]);
        }
      }
    }
  }

  @Override
  public void load(List<Object> newKeys, List<Object> newValues) {
    int count = newKeys.size();
    List<Object> liveKeys = new ArrayList<>();
    List<Object> liveValues = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      if (!newKeys.get(i).equals(emptyKey) && !newKeys.get(i).equals(deletedKey)) {
        liveKeys.add(newKeys.get(i));
        liveValues.add(newValues.get(i));
      }
    }
    // Whatever exported them, they are put where they belong.
    clear(Integer.bitCount(count) == 1 ? count : 4);
    expect(liveKeys.size());
    for (int i = 0; i < liveKeys.size(); i++) {
      put(liveKeys.get(i), liveValues.get(i));
    }
  }

  @Override
  public void export(List<Object> allKeys, List<Object> allValues) {
    allKeys.addAll(Arrays.asList(keys));
    allValues.addAll(Arrays.asList(values));
  }
}
