package dev.millrace.collective.member;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.ProcessEnvironment;
import dev.millrace.base.ThisUser;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * A folder on this host that only this user can look into. What is in it can be trusted to come
 * from the user's own processes, and to be seen by no other.
 */
public final class PrivateFolder {
  private static final Set<PosixFilePermission> FOLDER =
      PosixFilePermissions.fromString("rwx------");
  private static final Set<PosixFilePermission> FILE = PosixFilePermissions.fromString("rw-------");

  private final Path path;

  private PrivateFolder(Path path) {
    this.path = path;
  }

  /** This user's folder below the system's folder for such things. */
  public static PrivateFolder ofUser() {
    Path runtime = ProcessEnvironment.runtimeFolder();
    Path base =
        runtime != null && Files.isWritable(runtime)
            ? runtime
            : ProcessEnvironment.temporaryFolder();
    return in(base, "millrace-" + ThisUser.name());
  }

  /** The folder of that name in {@code base}, made if need be. Refuses one that others can open. */
  public static PrivateFolder in(Path base, String name) {
    Path path = base.resolve(name);
    try {
      try {
        Files.createDirectory(path, PosixFilePermissions.asFileAttribute(FOLDER));
      } catch (FileAlreadyExistsException e) {
        // Looked at below: somebody else may have put it there.
      }
      PosixFileAttributes a =
          Files.readAttributes(path, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
      String owner = a.owner().getName();
      if (!a.isDirectory() || !owner.equals(ThisUser.name()) || !a.permissions().equals(FOLDER)) {
        throw new MillraceException(
            Code.PERMISSION_DENIED,
            String.format(
                "%s must be a folder that only %s can open; it belongs to %s with permissions %s."
                    + " Remove it.",
                path, ThisUser.name(), owner, PosixFilePermissions.toString(a.permissions())));
      }
      return new PrivateFolder(path);
    } catch (IOException e) {
      throw new MillraceException(
          Code.FAILED_PRECONDITION, "Cannot make the folder " + path + ": " + e.getMessage(), e);
    }
  }

  /** Where it is. */
  public Path path() {
    return path;
  }

  /** A path in the folder. */
  public Path resolve(String name) {
    return path.resolve(name);
  }

  /** What a file of the folder holds, or null if there is none. */
  String read(String name) {
    try {
      return Files.readString(path.resolve(name));
    } catch (NoSuchFileException e) {
      return null;
    } catch (IOException e) {
      throw new MillraceException(
          Code.UNAVAILABLE, "Cannot read " + path.resolve(name) + ": " + e.getMessage(), e);
    }
  }

  /** Writes a file that others see whole or not at all, in place of what was there. */
  void write(String name, String contents) {
    try {
      Files.move(part(name, contents), path.resolve(name), StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw unwritable(name, e);
    }
  }

  /** Writes a file unless there is one, and returns what it holds then. */
  String writeOnce(String name, String contents) {
    if (read(name) == null) {
      try {
        Path part = part(name, contents);
        try {
          Files.createLink(path.resolve(name), part);
        } catch (FileAlreadyExistsException e) {
          // Another process was first; its contents count.
        } finally {
          Files.delete(part);
        }
      } catch (IOException e) {
        throw unwritable(name, e);
      }
    }
    return read(name);
  }

  /** The contents in a file of this process's own, to be put in place at once. */
  private Path part(String name, String contents) throws IOException {
    Path part = path.resolve(name + "." + ProcessHandle.current().pid());
    Files.deleteIfExists(part);
    Files.createFile(part, PosixFilePermissions.asFileAttribute(FILE));
    Files.write(part, contents.getBytes(StandardCharsets.UTF_8), StandardOpenOption.WRITE);
    return part;
  }

  private MillraceException unwritable(String name, IOException e) {
    return new MillraceException(
        Code.UNAVAILABLE, "Cannot write " + path.resolve(name) + ": " + e.getMessage(), e);
  }

  void delete(String name) {
    deleteQuietly(path.resolve(name));
  }

  private static void deleteQuietly(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      // It is small, and the next job overwrites it.
    }
  }
}
