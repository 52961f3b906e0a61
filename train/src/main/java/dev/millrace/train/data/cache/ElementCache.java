package dev.millrace.train.data.cache;

import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * Keeps the elements of a dataset from their first whole passage on, in the order of that: {@code
 * data.apply(ElementCache.inMemory())}. A shuffle belongs behind it. The position is how many
 * elements were given.
 *
 * <p>Threading: any thread; passages that run at the same time each read the source.
 */
public final class ElementCache {
  private ElementCache() {}

  /** On the heap of this process; each split of the dataset by itself. */
  public static UnaryOperator<Dataset> inMemory() {
    return source -> new Cached(source, new MemoryStore());
  }

  /**
   * In {@code file}, or for the splits of the dataset in files of that name with a number behind
   * it. They last beyond the process: delete them when the data changes.
   */
  public static UnaryOperator<Dataset> onDisk(Path file) {
    return source -> new Cached(source, new FileStore(file));
  }

  private record Cached(Dataset source, CacheStore store) implements Dataset {
    @Override
    public OptionalLong knownSize() {
      return source.knownSize();
    }

    @Override
    public int positionLength() {
      return 1;
    }

    @Override
    public List<Dataset> splits(long epoch) {
      List<Dataset> splits = new ArrayList<>();
      for (Dataset split : source.splits(0)) {
        splits.add(new Cached(split, store.split(splits.size())));
      }
      return splits;
    }

    @Override
    public Elements elements() {
      return new Passage(source, store);
    }
  }

  private static final class Passage implements Elements {
    private final Dataset source;
    private final CacheStore store;

    /** One of both is open from the first element on. */
    private Supplier<byte[]> kept;

    private Elements in;
    private CacheStore.Collector collector;
    private boolean ended;
    private long given;

    Passage(Dataset source, CacheStore store) {
      this.source = source;
      this.store = store;
    }

    @Override
    public Tensor[] next() {
      if (ended) {
        return null;
      }
      if (kept == null && in == null) {
        kept = store.open();
        if (kept == null) {
          in = source.elements();
          collector = store.collect();
        }
      }
      Tensor[] element;
      if (in == null) {
        byte[] bytes = kept.get();
        element = bytes == null ? null : ElementBytes.decode(bytes);
      } else {
        element = in.next();
        if (element == null) {
          collector.complete();
        } else {
          collector.add(ElementBytes.encode(element));
        }
      }
      ended = element == null;
      given += ended ? 0 : 1;
      return element;
    }

    @Override
    public long[] position() {
      return new long[] {given};
    }

    @Override
    public void seek(long[] position) {
      close();
      Elements.pass(this, position[0]);
    }

    @Override
    public void close() {
      if (in != null) {
        in.close();
        collector.close();
      }
      in = null;
      collector = null;
      kept = null;
      ended = false;
      given = 0;
    }
  }
}
