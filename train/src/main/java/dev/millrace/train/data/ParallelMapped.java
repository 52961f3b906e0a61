package dev.millrace.train.data;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Function;

/**
 * Elements after a function that several threads run, a block of them at a time. The position is
 * where the source stood at the beginning of the block, and which of its elements were given, a bit
 * for each: so it is right in any order.
 */
record ParallelMapped(
    Dataset source, Function<Tensor[], Tensor[]> function, int threads, boolean ordered)
    implements Dataset {
  /** The bits of a position, without its sign. */
  private static final int MOST = 63;

  @Override
  public OptionalLong knownSize() {
    return source.knownSize();
  }

  @Override
  public int positionLength() {
    return source.positionLength() + 1;
  }

  @Override
  public List<Dataset> splits(long epoch) {
    return source.splits(epoch).stream().map(s -> s.map(function, threads, ordered)).toList();
  }

  @Override
  public Elements elements() {
    return new Passage();
  }

  /** What became of an element of the block. */
  private record Done(int number, Tensor[] element, Throwable failure) {}

  private final class Passage implements Elements {
    private final Elements in = source.elements();
    private final int size = Math.min(MOST, 8 * threads);
    private ExecutorService executor;

    /** Where the source stood before the block, and the elements of it that were given. */
    private long[] start = in.position();

    private long given;

    /** How many elements of the block are not given yet, and those that are ready. */
    private int left;

    private BlockingQueue<Done> ready = new LinkedBlockingQueue<>();

    /** In order: what is ready before its turn; null where it is not, or given. */
    private Done[] early = new Done[MOST];

    private int next;

    @Override
    public Tensor[] next() {
      if (left == 0 && !begin(0)) {
        return null;
      }
      Done done = ordered ? inOrder() : take();
      left--;
      given |= 1L << done.number;
      if (done.failure != null) {
        throw MillraceException.of(done.failure);
      }
      return done.element;
    }

    private Done inOrder() {
      while ((given >>> next & 1) != 0) {
        next++;
      }
      while (early[next] == null) {
        Done done = take();
        early[done.number] = done;
      }
      Done done = early[next];
      early[next] = null;
      return done;
    }

    private Done take() {
      try {
        return ready.take();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new MillraceException(Code.CANCELLED, "Interrupted while waiting for input.", e);
      }
    }

    /** Reads a block and has its elements computed, but for those {@code before} names. */
    private boolean begin(long before) {
      start = in.position();
      given = before;
      next = 0;
      if (executor == null) {
        executor =
            Executors.newFixedThreadPool(
                threads, Thread.ofPlatform().daemon().name("millrace-map-", 0).factory());
      }
      List<Tensor[]> block = new ArrayList<>();
      try {
        while (block.size() < size) {
          Tensor[] element = in.next();
          if (element == null) {
            break;
          }
          block.add(element);
        }
      } catch (RuntimeException e) {
        block.forEach(Elements::release);
        throw e;
      }
      for (int i = 0; i < block.size(); i++) {
        Tensor[] element = block.get(i);
        if ((before >>> i & 1) != 0) {
          Elements.release(element);
          continue;
        }
        left++;
        int number = i;
        BlockingQueue<Done> to = ready;
        executor.execute(() -> to.add(compute(number, element)));
      }
      return left > 0 || (!block.isEmpty() && begin(0));
    }

    private Done compute(int number, Tensor[] element) {
      try {
        return new Done(number, function.apply(element), null);
      } catch (Throwable e) { // an Error too: whoever waits for the element has to hear of it
        return new Done(number, null, e);
      }
    }

    @Override
    public long[] position() {
      return left == 0 ? Positions.with(in.position(), 0) : Positions.with(start, given);
    }

    @Override
    public void seek(long[] position) {
      drop();
      in.seek(Positions.butLast(position));
      long before = Positions.last(position);
      if (before != 0) {
        begin(before);
      }
    }

    @Override
    public void repeat(long[] beginning, long number) {
      drop();
      in.repeat(Positions.butLast(beginning), number);
    }

    /** Waits for the elements that are being computed and releases them. */
    private void drop() {
      for (int i = 0; i < early.length; i++) {
        release(early[i]);
        left -= early[i] == null ? 0 : 1;
        early[i] = null;
      }
      for (; left > 0; left--) {
        release(take());
      }
    }

    private static void release(Done done) {
      if (done != null && done.element != null) {
        Elements.release(done.element);
      }
    }

    @Override
    public void close() {
      drop();
      if (executor != null) {
        executor.shutdown();
        executor = null;
      }
      in.close();
    }
  }
}
