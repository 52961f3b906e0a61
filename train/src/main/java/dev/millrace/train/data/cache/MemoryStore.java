package dev.millrace.train.data.cache;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/** Keeps elements on the heap. */
final class MemoryStore implements CacheStore {
  private final Map<Integer, MemoryStore> splits = new ConcurrentHashMap<>();
  private volatile List<byte[]> elements;

  @Override
  public Supplier<byte[]> open() {
    List<byte[]> all = elements;
    if (all == null) {
      return null;
    }
    Iterator<byte[]> each = all.iterator();
    return () -> each.hasNext() ? each.next() : null;
  }

  @Override
  public Collector collect() {
    List<byte[]> collected = new ArrayList<>();
    return new Collector() {
      @Override
      public void add(byte[] element) {
        collected.add(element);
      }

      @Override
      public void complete() {
        elements = collected;
      }

      @Override
      public void close() {}
    };
  }

  @Override
  public CacheStore split(int i) {
    return splits.computeIfAbsent(i, _ -> new MemoryStore());
  }
}
