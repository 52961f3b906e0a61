package dev.millrace.serving.batch;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.runtime.Session;
import dev.millrace.serving.model.ModelSignature;
import dev.millrace.serving.model.TensorSpec;
import dev.millrace.tensor.Tensor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Puts calls of several threads together to batches. There are no threads of its own: the first
 * caller that finds a free place leads a batch, runs it on its thread and gives the others their
 * rows; then the caller that has waited longest leads the next one. So a call that comes alone runs
 * at once, and the batches grow with the load.
 *
 * <p>If a batch fails, its calls run one by one, so that only those fail that are wrong.
 *
 * <p>Threading: any number of callers.
 */
public final class BatchQueue implements Session.Callable {
  private static final Logger LOG = LoggerFactory.getLogger(BatchQueue.class);

  /** How long a caller parks before it looks again; it is woken when there is something to do. */
  private static final long PARK_NANOS = 1_000_000_000L;

  /** A call that waits for its rows, or to lead. */
  private static final class Waiting {
    final Tensor[] inputs;
    final long rows;
    final Thread thread = Thread.currentThread();
    volatile boolean leads;
    volatile boolean done;
    Tensor[] outputs;
    RuntimeException failure;

    Waiting(Tensor[] inputs, long rows) {
      this.inputs = inputs;
      this.rows = rows;
    }
  }

  private final Session.Callable call;
  private final String signature;
  private final Batching settings;

  /** Calls that no batch has taken yet, oldest first. Guarded by this. */
  private final ArrayDeque<Waiting> pending = new ArrayDeque<>();

  /** The rows of these. Guarded by this. */
  private long pendingRows;

  /** Batches that run or gather. Guarded by this. */
  private int running;

  /** The leader that waits for others to fill its batch; null for none. Guarded by this. */
  private Waiting gathering;

  /** Whether an output turned out not to have a row for each row of the inputs. */
  private volatile boolean unsuitable;

  private BatchQueue(Session.Callable call, String signature, Batching settings) {
    this.call = call;
    this.signature = signature;
    this.settings = settings;
  }

  /** Batches over {@code call}, or the call itself if the signature has no rows to put together. */
  public static Session.Callable over(
      Session.Callable call, ModelSignature signature, Batching settings) {
    boolean rows =
        !signature.inputs().isEmpty()
            && signature.inputs().stream().allMatch(TensorSpec::hasRows)
            && signature.outputs().stream().allMatch(o -> !o.shape().hasRank() || o.hasRows());
    return rows && settings.rows() > 1 ? new BatchQueue(call, signature.name(), settings) : call;
  }

  @Override
  public Tensor[] run(Tensor... inputs) {
    long rows = JoinedRows.rows(inputs);
    if (rows < 1 || rows >= settings.rows() || unsuitable) {
      return call.run(inputs);
    }
    Waiting mine = new Waiting(inputs, rows);
    if (enter(mine)) {
      lead(mine);
    }
    await(mine);
    if (mine.failure != null) {
      throw mine.failure;
    }
    return mine.outputs;
  }

  /** Adds a call; returns whether it leads a batch. */
  private synchronized boolean enter(Waiting w) {
    pending.add(w);
    pendingRows += w.rows;
    if (gathering != null) {
      if (pendingRows >= settings.rows()) {
        LockSupport.unpark(gathering.thread);
      }
      return false;
    }
    if (running < settings.parallel()) {
      running++;
      if (!settings.delay().isZero()) {
        gathering = w;
      }
      return true;
    }
    return false;
  }

  private void await(Waiting mine) {
    boolean interrupted = false;
    while (!mine.done) {
      if (mine.leads) {
        lead(mine);
        continue;
      }
      settings.timers().park(this, PARK_NANOS);
      if (Thread.interrupted()) {
        interrupted = true;
        withdraw(mine);
      }
    }
    if (mine.leads) {
      // Another leader took this call meanwhile.
      handOver();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Takes an interrupted call out, unless a batch has it, which then ends first. */
  private synchronized void withdraw(Waiting w) {
    if (!w.leads && pending.remove(w)) {
      pendingRows -= w.rows;
      w.failure =
          new MillraceException(
              Code.CANCELLED, "The thread of the call was interrupted while it waited.");
      w.done = true;
    }
  }

  private void lead(Waiting mine) {
    mine.leads = false;
    gather(mine);
    List<Waiting> batch = take();
    try {
      run(batch);
    } finally {
      handOver();
      for (Waiting w : batch) {
        w.done = true;
        if (w != mine) {
          LockSupport.unpark(w.thread);
        }
      }
    }
  }

  private void gather(Waiting mine) {
    if (settings.delay().isZero()) {
      return;
    }
    long end = settings.timers().now() + settings.delay().toNanos();
    while (true) {
      long left = end - settings.timers().now();
      synchronized (this) {
        if (gathering == null) {
          gathering = mine;
        }
        if (left <= 0 || pendingRows >= settings.rows() || Thread.currentThread().isInterrupted()) {
          gathering = gathering == mine ? null : gathering;
          return;
        }
      }
      settings.timers().park(this, left);
    }
  }

  private synchronized List<Waiting> take() {
    List<Waiting> batch = new ArrayList<>();
    long rows = 0;
    while (!pending.isEmpty()) {
      Waiting next = pending.peek();
      boolean fits =
          batch.isEmpty()
              || rows + next.rows <= settings.rows()
                  && JoinedRows.fit(batch.getFirst().inputs, next.inputs);
      if (!fits) {
        break;
      }
      batch.add(pending.poll());
      rows += next.rows;
    }
    pendingRows -= rows;
    return batch;
  }

  /** Lets the oldest waiting call lead the next batch, or frees the place. */
  private synchronized void handOver() {
    Waiting next = pending.peek();
    if (next == null || next.leads || next == gathering) {
      running--;
    } else {
      next.leads = true;
      LockSupport.unpark(next.thread);
    }
  }

  private void run(List<Waiting> batch) {
    if (batch.size() > 1 && runTogether(batch)) {
      return;
    }
    for (Waiting w : batch) {
      try {
        w.outputs = call.run(w.inputs);
      } catch (RuntimeException e) {
        w.failure = e;
      } catch (Error e) {
        w.failure = MillraceException.of(e);
      }
    }
  }

  private boolean runTogether(List<Waiting> batch) {
    Tensor[] inputs = null;
    Tensor[] outputs = null;
    try {
      inputs = JoinedRows.joined(batch.stream().map(w -> w.inputs).toList());
      outputs = call.run(inputs);
      long[] rows = batch.stream().mapToLong(w -> w.rows).toArray();
      List<Tensor[]> parts = JoinedRows.parts(outputs, rows);
      if (parts == null) {
        unsuitable = true;
        LOG.warn(
            "Calls of signature '{}' are not put together any more: an output does not have a row"
                + " for each row of the inputs.",
            signature);
        return false;
      }
      for (int i = 0; i < parts.size(); i++) {
        batch.get(i).outputs = parts.get(i);
      }
      return true;
    } catch (MillraceException e) {
      LOG.debug(
          "A batch of {} calls failed; they run one by one: {}", batch.size(), e.getMessage());
      return false;
    } finally {
      close(inputs);
      close(outputs);
    }
  }

  private static void close(Tensor[] tensors) {
    if (tensors != null) {
      for (Tensor t : tensors) {
        t.close();
      }
    }
  }
}
