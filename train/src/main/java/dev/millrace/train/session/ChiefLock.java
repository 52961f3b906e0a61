package dev.millrace.train.session;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.Failures;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.UUID;

/**
 * The right to save in a folder, which one process at a time has. The system takes it back when the
 * process ends, however it ends. Its file also names the job, the same for every chief that saves
 * there.
 */
final class ChiefLock implements AutoCloseable {
  private static final String NAME = "chief.lock";
  private static final String JOB = "job ";

  private final FileChannel channel;
  private final String job;

  private ChiefLock(FileChannel channel, String job) {
    this.channel = channel;
    this.job = job;
  }

  /** The name of the job that saves in the folder. */
  String job() {
    return job;
  }

  /** Takes the lock; FAILED_PRECONDITION if another chief has it. */
  static ChiefLock take(Path folder) {
    Path file = folder.resolve(NAME);
    try {
      Files.createDirectories(folder);
      FileChannel channel =
          FileChannel.open(
              file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
      try {
        return take(channel, file);
      } catch (IOException | RuntimeException e) {
        channel.close();
        throw e;
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

  private static ChiefLock take(FileChannel channel, Path file) throws IOException {
    if (!tryLock(channel)) {
      throw MillraceException.failedPrecondition(
          "There is another chief (%s) that saves in %s. A job has one chief: end the other"
              + " process, or give this job a folder of its own.",
          Files.readString(file).lines().findFirst().orElse("unknown"), file.getParent());
    }
    String job = jobIn(file);
    channel.truncate(0);
    channel.write(
        ByteBuffer.wrap(
            ("process " + ProcessHandle.current().pid() + "\n" + JOB + job + "\n")
                .getBytes(StandardCharsets.UTF_8)));
    return new ChiefLock(channel, job);
  }

  private static String jobIn(Path file) throws IOException {
    return Files.readString(file)
        .lines()
        .filter(l -> l.startsWith(JOB))
        .findFirst()
        .map(l -> l.substring(JOB.length()))
        .orElseGet(() -> UUID.randomUUID().toString());
  }

  private static boolean tryLock(FileChannel channel) throws IOException {
    try {
      FileLock lock = channel.tryLock();
      return lock != null;
    } catch (OverlappingFileLockException e) {
      return false;
    }
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw MillraceException.of(e);
    }
  }
}
