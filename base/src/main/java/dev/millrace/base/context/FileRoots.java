package dev.millrace.base.context;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.config.ClusterSettings;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The folders whose files graphs may use, where a task has such a limit ({@code --files}). Symbolic
 * links count as what they lead to. Files and folders below them whose names begin with a dot, such
 * as keys and start-up scripts, are out of bounds, unless a folder itself is such a one.
 *
 * <p>Threading: any thread.
 */
public final class FileRoots {
  private FileRoots() {}

  /**
   * The path, if graphs in this context may use it.
   *
   * @throws MillraceException PERMISSION_DENIED if not
   */
  public static Path checked(Path path) {
    Optional<String> roots = Context.current().config().find(ClusterSettings.FILES);
    if (roots.isPresent()) {
      Path real = real(path);
      if (real == null || list(roots.get()).stream().noneMatch(r -> contains(r, real))) {
        throw new MillraceException(
            Code.PERMISSION_DENIED,
            "Graphs on this task may not use the file "
                + path
                + ": only those below "
                + roots.get().replace(File.pathSeparator, " and ")
                + " whose names do not begin with a dot. Start the task with --files FOLDER to"
                + " permit another folder.");
      }
    }
    return path;
  }

  private static List<Path> list(String roots) {
    List<Path> all = new ArrayList<>();
    for (String r : roots.split(File.pathSeparator)) {
      Path real = r.isBlank() ? null : real(Path.of(r));
      if (real != null) {
        all.add(real);
      }
    }
    return all;
  }

  private static boolean contains(Path root, Path file) {
    if (!file.startsWith(root)) {
      return false;
    }
    for (Path name : root.relativize(file)) {
      if (name.toString().startsWith(".")) {
        return false;
      }
    }
    return true;
  }

  /** Where a file is or would be, without links; null if that cannot be said. */
  private static @Nullable Path real(Path path) {
    Path rest = Path.of("");
    for (Path p = path.toAbsolutePath(); p != null; p = p.getParent()) {
      try {
        if (Files.exists(p, LinkOption.NOFOLLOW_LINKS)) {
          return p.toRealPath().resolve(rest).normalize();
        }
      } catch (IOException e) {
        // A link that leads nowhere: what would be written there is unknown.
        return null;
      }
      Path name = p.getFileName();
      if (name == null || name.toString().equals("..")) {
        return null;
      }
      rest = name.resolve(rest.toString());
    }
    return null;
  }
}
