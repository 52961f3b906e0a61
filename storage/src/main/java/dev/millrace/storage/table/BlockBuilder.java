package dev.millrace.storage.table;

import dev.millrace.storage.VarintBuffer;
import java.util.Arrays;

/**
 * Builds one block of a table. A key is stored as the length of the prefix it shares with the
 * previous key, and the rest. At regular intervals (restarts) a key is stored whole. The block ends
 * with the positions of the restarts.
 */
final class BlockBuilder {
  private final int restartInterval;
  private final VarintBuffer entries = new VarintBuffer(1 << 10);
  private int[] restarts = new int[8];
  private int restartCount = 1;
  private int sinceRestart;
  private byte[] lastKey = new byte[0];

  BlockBuilder(int restartInterval) {
    this.restartInterval = restartInterval;
  }

  boolean isEmpty() {
    return entries.size() == 0;
  }

  /** The size of the block if it ended here. */
  int sizeBytes() {
    return entries.size() + 4 * restartCount + 4;
  }

  void add(byte[] key, byte[] value) {
    int shared = 0;
    if (sinceRestart == restartInterval) {
      if (restartCount == restarts.length) {
        restarts = Arrays.copyOf(restarts, 2 * restartCount);
      }
      restarts[restartCount++] = entries.size();
      sinceRestart = 0;
    } else {
      int mismatch = Arrays.mismatch(lastKey, key);
      shared = mismatch < 0 ? key.length : mismatch;
    }
    entries.putVarint(shared);
    entries.putVarint(key.length - shared);
    entries.putVarint(value.length);
    entries.put(key, shared, key.length - shared);
    entries.put(value, 0, value.length);
    lastKey = key;
    sinceRestart++;
  }

  /** The finished block followed by {@code extra} zero bytes. Empties the builder. */
  byte[] finish(int extra) {
    for (int i = 0; i < restartCount; i++) {
      entries.putInt(restarts[i]);
    }
    entries.putInt(restartCount);
    byte[] block = entries.toBytes(extra);
    entries.clear();
    restartCount = 1;
    sinceRestart = 0;
    lastKey = new byte[0];
    return block;
  }
}
