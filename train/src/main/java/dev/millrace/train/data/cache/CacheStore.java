package dev.millrace.train.data.cache;

import java.util.function.Supplier;

/**
 * Where encoded elements are kept. A store is complete or has nothing: what is collected counts
 * once a passage has seen the end.
 */
interface CacheStore {
  /** The elements in their order, null at the end; null if the store is not complete. */
  Supplier<byte[]> open();

  /** Collects elements of a passage from its beginning on. */
  Collector collect();

  /** The store of split {@code i}. */
  CacheStore split(int i);

  /** What a passage has collected; given up if it is closed before it is complete. */
  interface Collector extends AutoCloseable {
    void add(byte[] element);

    void complete();

    @Override
    void close();
  }
}
