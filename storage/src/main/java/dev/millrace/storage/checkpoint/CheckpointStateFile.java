package dev.millrace.storage.checkpoint;

import com.google.protobuf.TextFormat;
import dev.millrace.proto.CheckpointState;
import dev.millrace.storage.AtomicFile;
import dev.millrace.storage.Failures;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * The text file {@code checkpoint} in a directory of checkpoints. It names the latest checkpoint
 * and those that are kept. Its paths are prefixes without {@code .index}.
 */
public final class CheckpointStateFile {
  /** The usual name of the file. */
  public static final String NAME = "checkpoint";

  private CheckpointStateFile() {}

  /**
   * The contents of the file in {@code directory}, with paths resolved against the directory; empty
   * if there is no such file.
   */
  public static Optional<CheckpointState> read(Path directory) {
    return read(directory, NAME);
  }

  /** As {@link #read(Path)}, for a file of another name. */
  public static Optional<CheckpointState> read(Path directory, String name) {
    Path file = directory.resolve(name);
    String text;
    try {
      text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IOException e) {
      throw Failures.io("Cannot read", file, e);
    }
    CheckpointState.Builder state = CheckpointState.newBuilder();
    try {
      TextFormat.Parser.newBuilder().setAllowUnknownFields(true).build().merge(text, state);
    } catch (TextFormat.ParseException e) {
      throw Failures.corrupt(
          file,
          "not the text of a CheckpointState: %s. Delete it, or name the checkpoint to use.",
          e.getMessage());
    }
    try {
      return Optional.of(mapPaths(state.build(), p -> directory.resolve(p).toString()));
    } catch (InvalidPathException e) {
      throw Failures.corrupt(file, "a path in it is none: %s.", e.getMessage());
    }
  }

  /** The prefix of the latest checkpoint in {@code directory}; empty if there is none. */
  public static Optional<Path> latest(Path directory) {
    return read(directory)
        .filter(s -> !s.getModelCheckpointPath().isEmpty())
        .map(s -> Path.of(s.getModelCheckpointPath()));
  }

  /**
   * Replaces the file atomically. Paths inside the directory are written relative to it, so that
   * the directory can be moved.
   */
  public static void write(Path directory, CheckpointState state) {
    write(directory, NAME, state);
  }

  /** As {@link #write(Path, CheckpointState)}, for a file of another name. */
  public static void write(Path directory, String name, CheckpointState state) {
    AtomicFile.makeDirectories(directory);
    CheckpointState relative = mapPaths(state, p -> relativeTo(directory, p));
    String text = TextFormat.printer().printToString(relative);
    AtomicFile.write(directory.resolve(name), text.getBytes(StandardCharsets.UTF_8));
  }

  private static String relativeTo(Path directory, String path) {
    Path base = directory.toAbsolutePath().normalize();
    Path absolute = Path.of(path).toAbsolutePath().normalize();
    return (absolute.startsWith(base) ? base.relativize(absolute) : absolute).toString();
  }

  private static CheckpointState mapPaths(CheckpointState state, UnaryOperator<String> change) {
    CheckpointState.Builder b = state.toBuilder();
    if (!b.getModelCheckpointPath().isEmpty()) {
      b.setModelCheckpointPath(change.apply(b.getModelCheckpointPath()));
    }
    for (int i = 0; i < b.getAllModelCheckpointPathsCount(); i++) {
      b.setAllModelCheckpointPaths(i, change.apply(b.getAllModelCheckpointPaths(i)));
    }
    return b.build();
  }
}
