package dev.millrace.cluster.link;

import dev.millrace.base.MillraceException;
import dev.millrace.base.ThisUser;
import dev.millrace.collective.member.PrivateFolder;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The folder a process shares with those of its user on its host: the socket they connect to and
 * the files of shared tensors. Memory backs it where the system has such a place. Its parent folder
 * is open to this user only, so other users can put nothing there.
 *
 * <p>Its process holds a lock on a file beside it. The system releases the lock when the process
 * ends, for whatever reason; the next process to start removes the folder.
 */
final class LinkFolder implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LinkFolder.class);
  private static final String PREFIX = "link-";
  private static final String LOCK = ".lock";
  private static final String NEW = ".new";
  private static final String SOCKET = "socket";
  private static final Path MEMORY = Path.of("/dev/shm");
  private static final FileAttribute<?> FOLDER =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
  private static final FileAttribute<?> FILE =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
  private static final SecureRandom RANDOM = new SecureRandom();

  private final Path path;
  private final FileChannel lock;
  private final Thread atExit = new Thread(this::delete, "millrace-link-folder");

  private LinkFolder(Path path, FileChannel lock) {
    this.path = path;
    this.lock = lock;
  }

  /** A folder in memory, or where the user's other private files are. */
  static LinkFolder create() throws IOException {
    if (Files.isWritable(MEMORY)) {
      try {
        return create(ofUser(MEMORY));
      } catch (MillraceException e) {
        LOG.warn(
            "No shared-memory folder in /dev/shm; links use the user's private folder instead: {}",
            e.getMessage());
      }
    }
    return create(PrivateFolder.ofUser());
  }

  /** The folder of this user's processes in {@code base}. */
  static PrivateFolder ofUser(Path base) {
    return PrivateFolder.in(base, "millrace-" + ThisUser.name());
  }

  static LinkFolder create(PrivateFolder parent) throws IOException {
    deleteAbandoned(parent.path());
    String name =
        PREFIX + ProcessHandle.current().pid() + String.format("-%016x", RANDOM.nextLong());
    Path unlocked = parent.resolve(name + NEW);
    Path locked = parent.resolve(name + LOCK);
    FileChannel lock =
        FileChannel.open(
            unlocked, Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE), FILE);
    try {
      // Renamed once it is locked: other processes must not see it unlocked.
      lock.lock();
      Files.move(unlocked, locked, StandardCopyOption.ATOMIC_MOVE);
      LinkFolder folder = new LinkFolder(Files.createDirectory(parent.resolve(name), FOLDER), lock);
      Runtime.getRuntime().addShutdownHook(folder.atExit);
      return folder;
    } catch (IOException | RuntimeException e) {
      Files.deleteIfExists(unlocked);
      Files.deleteIfExists(locked);
      lock.close();
      throw e;
    }
  }

  Path path() {
    return path;
  }

  Path socket() {
    return socketIn(path);
  }

  static Path socketIn(Path folder) {
    return folder.resolve(SOCKET);
  }

  /** {@code other} if it is the folder of another process of this user; else null. */
  Path sibling(Path other) {
    boolean is =
        path.getParent().equals(other.getParent())
            && other.getFileName().toString().startsWith(PREFIX)
            && Files.isDirectory(other, LinkOption.NOFOLLOW_LINKS);
    return is ? other : null;
  }

  /**
   * Removes what killed processes left: folders whose locks are free. One thread at a time: Java
   * refuses a second lock of this process on the same file.
   */
  private static synchronized void deleteAbandoned(Path parent) {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(parent, PREFIX + "*" + LOCK)) {
      for (Path lock : files) {
        String name = lock.getFileName().toString();
        // Closing any channel of a file releases this process's own lock on it.
        if (!name.startsWith(PREFIX + ProcessHandle.current().pid() + "-")) {
          deleteIfAbandoned(parent, lock, name.substring(0, name.length() - LOCK.length()));
        }
      }
    } catch (IOException e) {
      LOG.debug("Cannot list {} for folders that killed processes left: {}", parent, e.toString());
    }
  }

  private static void deleteIfAbandoned(Path parent, Path lock, String name) {
    try (FileChannel c =
        FileChannel.open(lock, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)) {
      if (c.tryLock() != null) {
        deleteAll(parent, name);
        Files.delete(lock);
      }
    } catch (IOException e) {
      // Another process is deleting it.
      LOG.debug("Cannot remove the abandoned folder of {}: {}", lock, e.toString());
    }
  }

  /** Deletes a folder and its files; follows no symbolic link. */
  private static void deleteAll(Path parent, String name) throws IOException {
    if (!Files.exists(parent.resolve(name), LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    try (DirectoryStream<Path> in = Files.newDirectoryStream(parent)) {
      if (!(in instanceof SecureDirectoryStream<Path> secure)) {
        throw new IOException("this file system cannot delete relative to an open folder");
      }
      Path folder = Path.of(name);
      try (SecureDirectoryStream<Path> files =
          secure.newDirectoryStream(folder, LinkOption.NOFOLLOW_LINKS)) {
        for (Path f : files) {
          files.deleteFile(f.getFileName());
        }
      }
      secure.deleteDirectory(folder);
    }
  }

  private void delete() {
    String name = path.getFileName().toString();
    try {
      deleteAll(path.getParent(), name);
      Files.deleteIfExists(path.resolveSibling(name + LOCK));
      lock.close();
    } catch (IOException e) {
      // The next process to start removes it.
      LOG.debug("Cannot remove {}: {}", path, e.toString());
    }
  }

  @Override
  public void close() {
    delete();
    try {
      Runtime.getRuntime().removeShutdownHook(atExit);
    } catch (IllegalStateException e) {
      // The process is ending; the hook runs or has run.
    }
  }
}
