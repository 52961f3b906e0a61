package dev.millrace.train.job;

import dev.millrace.base.ProcessMemory;
import dev.millrace.base.Timers;
import dev.millrace.base.context.Context;
import dev.millrace.storage.record.EventWriter;
import dev.millrace.tensor.BufferPool;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Writes how much memory a parameter server takes, by the seconds it has served, to a folder of
 * summaries of its own. In TensorBoard it is a run beside those of the workers.
 *
 * <p>Threading: writes by a thread of its own until closed.
 */
public final class ServerSummaries implements AutoCloseable {
  private static final Duration LEAVE = Duration.ofSeconds(10);
  private static final float MIB = 1 << 20;

  private final EventWriter events;
  private final Timers timers = Context.current().timers();
  private final long start = timers.now();
  private final Timers.Schedule timer = timers.schedule("millrace-summaries");

  /**
   * Writes now, whenever {@code every} has passed, and when closed.
   *
   * @param folder the folder of the job; that of this task is in it
   * @param task such as {@code ps/1}, whose folder is {@code ps_1}
   */
  public ServerSummaries(Path folder, String task, Duration every) {
    events = new EventWriter(folder.resolve(task.replace('/', '_')));
    write();
    timer.every(every.toNanos(), this::write);
  }

  private void write() {
    long seconds = TimeUnit.NANOSECONDS.toSeconds(timers.now() - start);
    events.addScalar("memory/tensors_mib", BufferPool.current().usedBytes() / MIB, seconds);
    events.addScalar("memory/resident_mib", ProcessMemory.residentBytes() / MIB, seconds);
  }

  @Override
  public void close() {
    timer.close();
    try {
      if (timer.awaitIdle(LEAVE.toNanos())) {
        write();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    events.close();
  }
}
