package dev.millrace.train.job;

import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import dev.millrace.runtime.Session;
import dev.millrace.storage.AtomicFile;
import dev.millrace.train.hook.SessionRunHook;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How those who follow a job by its folder alone, as an evaluator does, learn that it is over: the
 * chief writes its final status at its end, {@code chief/0 ok}, {@code chief/0 stopped} or {@code
 * chief/0 failed: why}, and when that was, into a file of the folder. A job that goes on in the
 * folder removes it.
 */
public final class JobResultFile implements SessionRunHook {
  /** The name of the file. */
  public static final String FILE = "millrace_job_end";

  private static final Logger LOG = LoggerFactory.getLogger(JobResultFile.class);

  private final Path file;
  private final String task;
  private final BooleanSupplier stopped;

  /**
   * The note of {@code task}, the chief of the job in {@code folder}.
   *
   * @param stopped whether it was told to stop, asked when it ends
   */
  public JobResultFile(Path folder, String task, BooleanSupplier stopped) {
    this.file = folder.resolve(FILE);
    this.task = task;
    this.stopped = stopped;
  }

  /** What the chief of a job in {@code folder} has noted, if it is over. */
  public static Optional<Note> read(Path folder) {
    try {
      String[] lines = Files.readString(folder.resolve(FILE)).split("\n", 2);
      return lines.length < 2 ? Optional.empty() : Optional.of(new Note(lines[0], lines[1]));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IOException e) {
      throw MillraceException.of(e);
    }
  }

  /** A final status and its time, which tells apart those of two runs. */
  public record Note(String when, String word) {
    /** How the job ended. */
    public JobEnd.Outcome outcome() {
      return JobEnd.Outcome.of(word);
    }
  }

  @Override
  public void begin() {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      throw MillraceException.of(e);
    }
  }

  @Override
  public void end(Session session) {
    write(JobEnd.status(task, stopped.getAsBoolean()));
  }

  @Override
  public void abandon(Session session, MillraceException cause) {
    write(JobEnd.status(task, cause));
  }

  private void write(String word) {
    try {
      AtomicFile.write(
          file,
          (Context.current().timers().wallTime() + "\n" + word).getBytes(StandardCharsets.UTF_8));
    } catch (MillraceException e) {
      LOG.warn("{} cannot be written; evaluators will wait in vain: {}", file, e.getMessage());
    }
  }

  /** Nobody must take a checkpoint for the last before it is. */
  @Override
  public boolean isLast() {
    return true;
  }
}
