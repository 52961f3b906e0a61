package dev.millrace.train.session;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.Failures;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The right to save in a folder, which one process at a time has. The system takes it back when the
 * process ends, however it ends. Its file also names the job, the same for every chief that saves
 * there.
 *
 * <p>A lock of the system's is a process' own, and gone as soon as the process closes the file, by
 * whichever channel: while it is held here, the file is opened by nobody else of this process.
 */
final class ChiefLock implements AutoCloseable {
  private static final String NAME = "chief.lock";
  private static final String JOB = "job ";

  /** The files whose locks this process has, or is about to take. */
  private static final Set<Path> HELD = ConcurrentHashMap.newKeySet();

  private final Path file;
  private final FileChannel channel;
  private final String job;

  private ChiefLock(Path file, FileChannel channel, String job) {
    this.file = file;
    this.channel = channel;
    this.job = job;
  }

  /** The name of the job that saves in the folder. */
  String job() {
    return job;
  }

  /** Takes the lock; FAILED_PRECONDITION if another chief has it. */
  static ChiefLock take(Path folder) {
    try {
      Files.createDirectories(folder);
      Path file = folder.toRealPath().resolve(NAME);
      if (!HELD.add(file)) {
        throw another(thisProcess(), folder);
      }
      ChiefLock lock = null;
      try {
        lock = take(file, folder);
        return lock;
      } finally {
        if (lock == null) {
          HELD.remove(file);
        }
      }
    } catch (IOException e) {
      throw new MillraceException(
          Code.PERMISSION_DENIED,
          "Cannot write in the folder "
              + folder
              + " for checkpoints and summaries: "
              + Failures.reason(e)
              + ". Name another one or change its permissions.",
          e);
    }
  }

  private static ChiefLock take(Path file, Path folder) throws IOException {
    FileChannel channel =
        FileChannel.open(
            file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    boolean taken = false;
    try {
      taken = channel.tryLock() != null;
      List<String> lines = lines(channel);
      if (!taken) {
        throw another(lines.isEmpty() ? "unknown" : lines.getFirst(), folder);
      }
      String job = jobIn(lines);
      channel.truncate(0);
      channel.write(
          ByteBuffer.wrap(
              (thisProcess() + "\n" + JOB + job + "\n").getBytes(StandardCharsets.UTF_8)));
      return new ChiefLock(file, channel, job);
    } catch (IOException e) {
      taken = false;
      throw e;
    } finally {
      if (!taken) {
        channel.close();
      }
    }
  }

  private static String thisProcess() {
    return "process " + ProcessHandle.current().pid();
  }

  private static MillraceException another(String chief, Path folder) {
    return MillraceException.failedPrecondition(
        "There is another chief (%s) that saves in %s. A job has one chief: end the other process,"
            + " or give this job a folder of its own.",
        chief, folder);
  }

  private static List<String> lines(FileChannel channel) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate((int) Math.min(channel.size(), 4096));
    while (bytes.hasRemaining() && channel.read(bytes, bytes.position()) > 0) {}
    return StandardCharsets.UTF_8.decode(bytes.flip()).toString().lines().toList();
  }

  private static String jobIn(List<String> lines) {
    return lines.stream()
        .filter(l -> l.startsWith(JOB))
        .findFirst()
        .map(l -> l.substring(JOB.length()))
        .orElseGet(() -> UUID.randomUUID().toString());
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw MillraceException.of(e);
    } finally {
      HELD.remove(file);
    }
  }
}
