package dev.millrace.cluster.link;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;

/**
 * The folder a process shares with those of its user on its host: the socket they connect to and
 * the files of shared tensors. Memory backs it where the system has such a place.
 */
final class LinkFolder implements AutoCloseable {
  private static final String PREFIX = "millrace-link-";
  private static final String SOCKET = "socket";

  private final Path path;
  private final Thread atExit = new Thread(this::delete, "millrace-link-folder");

  private LinkFolder(Path path) {
    this.path = path;
  }

  static LinkFolder create() throws IOException {
    Path memory = Path.of("/dev/shm");
    Path parent = Files.isWritable(memory) ? memory : Path.of(System.getProperty("java.io.tmpdir"));
    deleteAbandoned(parent);
    LinkFolder folder =
        new LinkFolder(
            Files.createTempDirectory(
                parent,
                PREFIX,
                PosixFilePermissions.asFileAttribute(
                    PosixFilePermissions.fromString("rwx------"))));
    Runtime.getRuntime().addShutdownHook(folder.atExit);
    return folder;
  }

  Path path() {
    return path;
  }

  Path socket() {
    return path.resolve(SOCKET);
  }

  /** Removes what killed processes left: folders whose socket nobody answers. */
  private static void deleteAbandoned(Path parent) {
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(parent, PREFIX + "*")) {
      for (Path folder : folders) {
        if (Files.isWritable(folder) && isAbandoned(folder)) {
          deleteAll(folder);
        }
      }
    } catch (IOException e) {
      // Somebody else's, or being deleted by another process: not ours to worry about.
    }
  }

  private static boolean isAbandoned(Path folder) throws IOException {
    Path socket = folder.resolve(SOCKET);
    if (Files.exists(socket)) {
      return !answers(socket);
    }
    // A folder is there for a moment before its socket is.
    long age = System.currentTimeMillis() - Files.getLastModifiedTime(folder).toMillis();
    return age > Duration.ofMinutes(1).toMillis();
  }

  private static boolean answers(Path socket) {
    try (SocketChannel c = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
      return c.isConnected();
    } catch (IOException e) {
      return false;
    }
  }

  private static void deleteAll(Path folder) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
      for (Path f : files) {
        Files.deleteIfExists(f);
      }
    }
    Files.deleteIfExists(folder);
  }

  private void delete() {
    try {
      deleteAll(path);
    } catch (IOException e) {
      // The next process to start removes it.
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
