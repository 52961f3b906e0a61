package dev.millrace.tensor.math;

import java.util.Arrays;

/** Numbers distinct longs 0, 1, 2, ... in the order in which they first come. */
public final class DistinctLongs {
  private static final int EMPTY = -1;

  /** Open addressing: a slot holds the number of its key, or {@link #EMPTY}. */
  private int[] slots;

  private long[] keys;
  private int size;

  /** Begins with room for about {@code expected} keys. */
  public DistinctLongs(long expected) {
    int n = Integer.highestOneBit(Math.clamp(expected, 8, 1 << 28) - 1) << 2;
    slots = new int[n];
    keys = new long[n / 2];
    Arrays.fill(slots, EMPTY);
  }

  /** How many distinct keys have come. */
  public int size() {
    return size;
  }

  /** The number of {@code key}, a new one if it has not come before. */
  public int add(long key) {
    int i = slot(key);
    if (slots[i] == EMPTY) {
      if (size == keys.length) {
        grow();
        i = slot(key);
      }
      keys[size] = key;
      slots[i] = size++;
    }
    return slots[i];
  }

  public boolean contains(long key) {
    return slots[slot(key)] != EMPTY;
  }

  private int slot(long key) {
    int mask = slots.length - 1;
    long h = key * 0x9E3779B97F4A7C15L;
    int i = (int) (h >>> 32) & mask;
    while (slots[i] != EMPTY && keys[slots[i]] != key) {
      i = i + 1 & mask;
    }
    return i;
  }

  private void grow() {
    slots = new int[slots.length * 2];
    keys = Arrays.copyOf(keys, keys.length * 2);
    Arrays.fill(slots, EMPTY);
    for (int k = 0; k < size; k++) {
      slots[slot(keys[k])] = k;
    }
  }
}
