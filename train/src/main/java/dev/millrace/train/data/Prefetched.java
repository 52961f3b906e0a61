package dev.millrace.train.data;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Tensor;
import java.util.concurrent.ArrayBlockingQueue;

/** Elements made ahead of time. The position is that after the last element given out. */
record Prefetched(Dataset source, int size) implements Dataset {
  @Override
  public int positionLength() {
    return source.positionLength();
  }

  @Override
  public Elements elements() {
    return new Passage();
  }

  /** An element and where the source stood after it; without an element the end, or a failure. */
  private record Ready(Tensor[] element, long[] position, RuntimeException failure) {}

  private final class Passage implements Elements {
    private final Elements in = source.elements();
    private ArrayBlockingQueue<Ready> ready = new ArrayBlockingQueue<>(size);
    private long[] position = in.position();
    private Thread thread;
    private boolean ended;

    private void start() {
      ArrayBlockingQueue<Ready> queue = ready;
      thread = Thread.ofPlatform().daemon().name("millrace-prefetch").start(() -> fill(queue));
    }

    /** Runs on the thread: stops at the end, at a failure, and when interrupted. */
    private void fill(ArrayBlockingQueue<Ready> queue) {
      try {
        while (true) {
          Ready next;
          try {
            next = new Ready(in.next(), in.position(), null);
          } catch (RuntimeException e) {
            next = new Ready(null, null, e);
          }
          queue.put(next);
          if (next.element == null) {
            return;
          }
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    @Override
    public Tensor[] next() {
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
      if (r.failure != null) {
        throw r.failure;
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
      ended = false;
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
    }

    @Override
    public void close() {
      stop();
      in.close();
    }
  }
}
