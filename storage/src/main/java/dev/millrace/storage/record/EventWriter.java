package dev.millrace.storage.record;

import com.google.protobuf.ByteString;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import dev.millrace.proto.Event;
import dev.millrace.proto.Summary;
import dev.millrace.storage.AtomicFile;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Writes an event file that TensorBoard shows. A background thread writes queued events, so that a
 * training step does not wait for the disk. Events reach the file at least every {@code
 * flushEvery}, and at once after {@link #flush}. The next call throws a failure to write.
 *
 * <p>Threading: any thread may call any method. Events of one thread keep their order.
 */
public final class EventWriter implements AutoCloseable {
  private static final String VERSION = "brain.Event:2";
  private static final Duration DEFAULT_FLUSH = Duration.ofSeconds(5);
  private static final int QUEUE_EVENTS = 1000;
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final AtomicInteger FILES = new AtomicInteger();

  private final Path file;
  private final RecordWriter records;

  /** Runs everything that touches {@link #records}, in order. */
  private final ExecutorService writer;

  private final long flushNanos;

  /** One permit per event that may still be queued. */
  private final Semaphore room = new Semaphore(QUEUE_EVENTS);

  /** The first failure; nothing is written after it. */
  private volatile @Nullable MillraceException failure;

  /** Starts an event file in {@code directory} and creates that if necessary. */
  public EventWriter(Path directory) {
    this(directory, "", DEFAULT_FLUSH);
  }

  /** Starts an event file whose name ends in {@code suffix}. */
  public EventWriter(Path directory, String suffix, Duration flushEvery) {
    this(startFile(directory, suffix), flushEvery);
  }

  /** Writes to {@code records} and finally closes it. */
  EventWriter(RecordWriter records, Duration flushEvery) {
    this.records = records;
    this.file = records.file();
    flushNanos = flushEvery.toNanos();
    writer =
        Executors.newSingleThreadExecutor(
            task -> Thread.ofPlatform().daemon().name("events " + file).unstarted(task));
    flushLater();
  }

  /** Flushes after a while, again and again until the writer is closed. */
  private void flushLater() {
    Context.current()
        .timers()
        .later(
            flushNanos,
            () -> {
              try {
                writer.execute(
                    () -> {
                      unlessFailed(records::flush);
                      flushLater();
                    });
              } catch (RejectedExecutionException e) {
                // Closed.
              }
            });
  }

  private static RecordWriter startFile(Path directory, String suffix) {
    AtomicFile.makeDirectories(directory);
    Instant now = Context.current().timers().wallTime();
    RecordWriter records = RecordWriter.createNew(directory.resolve(fileName(now, suffix)));
    records.write(
        Event.newBuilder().setWallTime(seconds(now)).setFileVersion(VERSION).build().toByteArray());
    records.flush();
    return records;
  }

  /**
   * The name begins with the seconds, so that files sort by age. Process id and number make it
   * unique.
   */
  private static String fileName(Instant now, String suffix) {
    return String.format(
        "events.out.tfevents.%010d.%s.%d.%d%s",
        now.getEpochSecond(),
        hostName(),
        ProcessHandle.current().pid(),
        FILES.getAndIncrement(),
        suffix);
  }

  /** The name of this host, without a network lookup where possible. */
  private static String hostName() {
    try {
      Path kernel = Path.of("/proc/sys/kernel/hostname");
      return Files.isReadable(kernel)
          ? Files.readString(kernel).strip()
          : InetAddress.getLocalHost().getHostName();
    } catch (IOException e) {
      return "localhost";
    }
  }

  private static double seconds(Instant t) {
    return t.getEpochSecond() + t.getNano() / 1e9;
  }

  /** The file being written. */
  public Path file() {
    return file;
  }

  /**
   * Queues an event and sets its time if it has none. Blocks only if the queue is full because the
   * disk stalls.
   */
  public void add(Event event) {
    checkFailure();
    Event stamped =
        event.getWallTime() != 0
            ? event
            : event.toBuilder().setWallTime(seconds(Context.current().timers().wallTime())).build();
    try {
      if (!Context.current().timers().tryAcquire(room, PATIENCE.toNanos())) {
        throw stalled("take another event");
      }
    } catch (InterruptedException e) {
      throw interrupted();
    }
    try {
      writer.execute(
          () -> {
            room.release();
            unlessFailed(() -> records.write(stamped.toByteArray()));
          });
    } catch (RejectedExecutionException e) {
      throw MillraceException.failedPrecondition("The event file %s has been closed.", file);
    }
  }

  /** Queues one value for the chart {@code tag}. */
  public void addScalar(String tag, float value, long step) {
    Summary.Value v = Summary.Value.newBuilder().setTag(tag).setSimpleValue(value).build();
    addSummary(Summary.newBuilder().addValue(v).build(), step);
  }

  /** Queues a summary. */
  public void addSummary(Summary summary, long step) {
    add(Event.newBuilder().setStep(step).setSummary(summary).build());
  }

  /** Queues a serialised GraphDef. */
  public void addGraph(ByteString graphDef) {
    add(Event.newBuilder().setGraphDef(graphDef).build());
  }

  /** Returns when all earlier events are in the file and visible to other processes. */
  public void flush() {
    checkFailure();
    try {
      await(writer.submit(() -> unlessFailed(records::flush)));
    } catch (RejectedExecutionException e) {
      throw MillraceException.failedPrecondition("The event file %s has been closed.", file);
    }
    checkFailure();
  }

  /** Writes the queued events and closes the file. Further calls do nothing. */
  @Override
  public void close() {
    Future<?> closed;
    try {
      closed = writer.submit(this::closeFile);
    } catch (RejectedExecutionException e) {
      return;
    }
    writer.shutdown();
    await(closed);
    checkFailure();
  }

  private void await(Future<?> done) {
    try {
      Context.current().timers().get(done, PATIENCE);
    } catch (TimeoutException e) {
      throw stalled("be flushed");
    } catch (InterruptedException e) {
      throw interrupted();
    } catch (ExecutionException | CancellationException e) {
      throw MillraceException.of(e);
    }
  }

  /** Runs on the writer's thread: keeps the first failure and does nothing after it. */
  private void unlessFailed(Runnable work) {
    if (failure == null) {
      try {
        work.run();
      } catch (RuntimeException e) {
        failure = MillraceException.of(e);
      }
    }
  }

  private void closeFile() {
    try {
      records.close();
    } catch (MillraceException e) {
      failure = failure == null ? e : failure;
    }
  }

  private void checkFailure() {
    if (failure != null) {
      throw failure.withMessage(failure.getMessage());
    }
  }

  private MillraceException stalled(String what) {
    return new MillraceException(
        Code.DEADLINE_EXCEEDED,
        String.format(
            "The event file %s has waited %d s to %s; %d events are queued. The disk is stalled or"
                + " far too slow.",
            file, PATIENCE.toSeconds(), what, QUEUE_EVENTS - room.availablePermits()));
  }

  private MillraceException interrupted() {
    Thread.currentThread().interrupt();
    return new MillraceException(
        Code.CANCELLED, "Interrupted while waiting for the event file " + file + ".");
  }
}
