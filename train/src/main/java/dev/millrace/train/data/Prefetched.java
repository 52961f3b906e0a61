package dev.millrace.train.data;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.ArrayBlockingQueue;

/** Elements made ahead of time. The position is that after the last element given out. */
record Prefetched(Dataset source, int size) implements Dataset {
  @Override
  public OptionalLong knownSize() {
    return source.knownSize();
  }

  @Override
  public int positionLength() {
    return source.positionLength();
  }

  @Override
  public List<Dataset> splits(long epoch) {
    return source.splits(epoch).stream().map(s -> s.prefetch(size)).toList();
  }

  @Override
  public Elements elements() {
    return new Passage();
  }

  /** An element and where the source stood after it; without an element the end, or a failure. */
  private record Ready(Tensor[] element, long[] position, Throwable failure) {}

  private final class Passage implements Elements {
    private final Elements in = source.elements();
    private ArrayBlockingQueue<Ready> ready = new ArrayBlockingQueue<>(size);
    private long[] position = in.position();
    private Thread thread;
    private boolean ended;

    /** What the source failed with; told again to whoever asks again. */
    private Throwable failure;

    private void start() {
      ArrayBlockingQueue<Ready> queue = ready;
      thread = Thread.ofPlatform().daemon().name("millrace-prefetch").start(() -> fill(queue));
    }

    /** Runs on the thread: stops at the end, at a failure, and when interrupted. */
    private void fill(ArrayBlockingQueue<Ready> queue) {
      while (true) {
        Ready next;
        try {
          next = new Ready(in.next(), in.position(), null);
        } catch (Throwable e) { // an Error too: whoever waits for the element has to hear of it
          next = new Ready(null, null, e);
        }
        if (!put(queue, next) || next.element == null) {
          return;
        }
      }
    }

    /** Puts an element in the queue, or releases it if the thread is stopped meanwhile. */
    private static boolean put(ArrayBlockingQueue<Ready> queue, Ready next) {
      try {
        queue.put(next);
        return true;
      } catch (InterruptedException e) {
        if (next.element != null) {
          Elements.release(next.element);
        }
        return false;
      }
    }

    @Override
    public Tensor[] next() {
      if (failure != null) {
        throw MillraceException.of(failure);
      }
      if (ended) {
        return null;
      }
      if (thread == null) {
        start();
      }
      Ready r;
      try {
        r = ready.take();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new MillraceException(Code.CANCELLED, "Interrupted while waiting for input.", e);
      }
      ended = r.element == null;
      failure = r.failure;
      if (failure != null) {
        throw MillraceException.of(failure);
      }
      position = ended ? position : r.position;
      return r.element;
    }

    @Override
    public long[] position() {
      return position.clone();
    }

    @Override
    public void seek(long[] to) {
      stop();
      in.seek(to);
      position = to.clone();
    }

    @Override
    public void repeat(long[] beginning, long number) {
      stop();
      in.repeat(beginning, number);
      position = in.position();
    }

    private void stop() {
      if (thread != null) {
        thread.interrupt();
        try {
          thread.join();
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          throw new MillraceException(Code.CANCELLED, "Interrupted while stopping input.", e);
        }
        thread = null;
      }
      for (Ready r : ready) {
        if (r.element != null) {
          Elements.release(r.element);
        }
      }
      ready = new ArrayBlockingQueue<>(size);
      ended = false;
      failure = null;
    }

    @Override
    public void close() {
      stop();
      in.close();
    }
  }
}
