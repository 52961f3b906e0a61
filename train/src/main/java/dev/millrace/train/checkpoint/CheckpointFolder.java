package dev.millrace.train.checkpoint;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.CheckpointState;
import dev.millrace.storage.checkpoint.CheckpointStateFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.SequencedSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A folder with checkpoints. A checkpoint is named by its prefix, {@code FOLDER/model.ckpt-100};
 * its files are that with {@code .index}, {@code .data-00000-of-00001} and {@code .meta} behind.
 */
public final class CheckpointFolder {
  private static final Logger LOG = LoggerFactory.getLogger(CheckpointFolder.class);
  private static final String INDEX = ".index";

  /** What a save leaves behind when its process is killed. */
  private static final Pattern LEFT_OVER =
      Pattern.compile(".*\\.tempstate[0-9a-f]+|.*_temp(_[0-9a-f]{32})?");

  private CheckpointFolder() {}

  /** The latest complete checkpoint in {@code folder}; empty if there is none. */
  public static Optional<Path> latest(Path folder) {
    return newestFirst(folder).stream().findFirst();
  }

  /**
   * The complete checkpoints in {@code folder}, the newest first: those the state file names, in
   * its order, and where it names none that exists, all there are by age.
   */
  public static List<Path> newestFirst(Path folder) {
    SequencedSet<Path> found = new LinkedHashSet<>();
    Optional<CheckpointState> state = Optional.empty();
    try {
      state = CheckpointStateFile.read(folder);
    } catch (MillraceException e) {
      if (e.code() != Code.DATA_LOSS) {
        throw e;
      }
      LOG.warn("{} The checkpoints in the folder are tried by age instead.", e.getMessage());
    }
    state.ifPresent(
        s -> {
          found.add(Path.of(s.getModelCheckpointPath()));
          s.getAllModelCheckpointPathsList().reversed().forEach(p -> found.add(Path.of(p)));
        });
    found.removeIf(p -> !isComplete(p));
    return found.isEmpty() ? byAge(folder) : List.copyOf(found);
  }

  private static List<Path> byAge(Path folder) {
    List<Path> indexes = new ArrayList<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*" + INDEX)) {
      files.forEach(indexes::add);
      indexes.sort(Comparator.comparing(CheckpointFolder::modified).reversed());
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (IOException e) {
      throw unreadable(folder, e);
    }
    return indexes.stream()
        .map(i -> i.resolveSibling(withoutIndex(i.getFileName().toString())))
        .toList();
  }

  private static String withoutIndex(String name) {
    return name.substring(0, name.length() - INDEX.length());
  }

  private static java.nio.file.attribute.FileTime modified(Path file) {
    try {
      return Files.getLastModifiedTime(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Whether there is a checkpoint of this prefix: its index is written last. */
  public static boolean isComplete(Path prefix) {
    return Files.exists(withSuffix(prefix, INDEX));
  }

  /** Removes the files of a checkpoint, its index first. */
  public static void delete(Path prefix) {
    try {
      Files.deleteIfExists(withSuffix(prefix, INDEX));
      Files.deleteIfExists(withSuffix(prefix, ".meta"));
      String data = prefix.getFileName() + ".data-";
      for (Path file : list(prefix.toAbsolutePath().getParent())) {
        if (file.getFileName().toString().startsWith(data)) {
          Files.deleteIfExists(file);
        }
      }
    } catch (IOException e) {
      throw new MillraceException(
          Code.PERMISSION_DENIED, "Cannot remove checkpoint " + prefix + ": " + e, e);
    }
  }

  /** Removes what saves to this folder left behind that were cut off; nobody may be saving now. */
  public static void removeLeftOvers(Path folder) {
    if (!Files.isDirectory(folder)) {
      return;
    }
    for (Path file : list(folder)) {
      if (LEFT_OVER.matcher(file.getFileName().toString()).matches()) {
        LOG.info("Removing {}, left behind by a save that was cut off.", file);
        deleteTree(file);
      }
    }
  }

  /** Removes what a save of {@code prefix} left behind that failed. */
  static void removeLeftOversOf(Path prefix) {
    String name = prefix.getFileName().toString();
    for (Path file : list(prefix.getParent())) {
      String other = file.getFileName().toString();
      if ((other.startsWith(name + "_") || other.startsWith(name + "."))
          && LEFT_OVER.matcher(other).matches()) {
        deleteTree(file);
      }
    }
  }

  /** Removes a folder or file; what cannot be removed is named in the log. */
  static void deleteTree(Path root) {
    try {
      Files.walkFileTree(
          root,
          new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes a) throws IOException {
              Files.deleteIfExists(file);
              return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path dir, IOException e) throws IOException {
              Files.deleteIfExists(dir);
              return FileVisitResult.CONTINUE;
            }
          });
    } catch (IOException e) {
      LOG.warn("Cannot remove {}: {}", root, e.toString());
    }
  }

  private static List<Path> list(Path folder) {
    try (Stream<Path> files = Files.list(folder)) {
      return files.toList();
    } catch (IOException e) {
      throw unreadable(folder, e);
    }
  }

  static Path withSuffix(Path prefix, String suffix) {
    return prefix.resolveSibling(prefix.getFileName() + suffix);
  }

  private static MillraceException unreadable(Path folder, IOException e) {
    return new MillraceException(
        Code.PERMISSION_DENIED, "Cannot read the checkpoint folder " + folder + ": " + e, e);
  }
}
