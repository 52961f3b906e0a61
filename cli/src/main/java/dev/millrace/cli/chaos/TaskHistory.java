package dev.millrace.cli.chaos;

import dev.millrace.base.Timers;
import dev.millrace.cluster.spec.TaskId;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * What a task has done, in a file that outlives it: when it was up, and of a worker, which updates
 * it has begun and which were acknowledged.
 *
 * <p>Threading: one thread writes.
 */
final class TaskHistory implements AutoCloseable {
  private static final int BYTES = 16;

  /** What happened. */
  enum Kind {
    UP,
    BEGUN,
    ACKNOWLEDGED
  }

  /**
   * One line of it.
   *
   * @param nanos by the clock of {@link Timers#system}, which the processes of a machine share
   */
  record Event(Kind kind, int update, long nanos) {}

  private final FileChannel channel;
  private final ByteBuffer line = ByteBuffer.allocateDirect(BYTES);
  private int last;

  private TaskHistory(FileChannel channel, int last) {
    this.channel = channel;
    this.last = last;
  }

  private static Path file(Path folder, TaskId task) {
    return folder.resolve(task.job() + "-" + task.index() + ".history");
  }

  /** Goes on with the history of a task. */
  static TaskHistory of(Path folder, TaskId task) throws IOException {
    int last = read(folder, task).stream().mapToInt(Event::update).max().orElse(0);
    FileChannel channel =
        FileChannel.open(file(folder, task), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    return new TaskHistory(channel, last);
  }

  /** All that a task has written. */
  static List<Event> read(Path folder, TaskId task) throws IOException {
    return read(folder, task, 0);
  }

  /** What it has written behind the first {@code known} events. */
  static List<Event> read(Path folder, TaskId task, int known) throws IOException {
    List<Event> events = new ArrayList<>();
    Path file = file(folder, task);
    if (!Files.exists(file)) {
      return events;
    }
    try (FileChannel in = FileChannel.open(file, StandardOpenOption.READ)) {
      long start = (long) known * BYTES;
      ByteBuffer bytes = ByteBuffer.allocate((int) Math.max(0, in.size() - start));
      in.read(bytes, start);
      bytes.flip();
      while (bytes.remaining() >= BYTES) {
        events.add(new Event(Kind.values()[bytes.getInt()], bytes.getInt(), bytes.getLong()));
      }
    }
    return events;
  }

  void up() {
    write(Kind.UP, 0);
  }

  /** Begins another update, with a number that no process of this task has used. */
  int next() {
    write(Kind.BEGUN, ++last);
    return last;
  }

  void acknowledged(int update) {
    write(Kind.ACKNOWLEDGED, update);
  }

  private void write(Kind kind, int update) {
    line.clear().putInt(kind.ordinal()).putInt(update).putLong(Timers.system().now()).flip();
    try {
      channel.write(line);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
