package dev.millrace.tensor.math.onednn;

import dev.millrace.base.ProcessEnvironment;
import dev.millrace.base.ThisUser;
import dev.millrace.base.Timers;
import dev.millrace.base.config.ComputeSettings;
import dev.millrace.base.config.Config;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.JarURLConnection;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLConnection;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;

/**
 * A folder of the user's in which native libraries from the class path are kept unpacked, because
 * the system's loader wants files. A library is written under a name of its own and renamed when it
 * is whole, and its size and checksum are compared with the original before each use: several
 * processes may unpack at once, and one that dies half-way leaves nothing that is ever loaded.
 *
 * <p>The folder is {@code -Dmillrace.native.cache}, or {@code millrace} in the user's cache folder,
 * or one for this user alone in the temporary folder.
 */
final class LibraryCache {
  /** Unfinished files of this age were left by a process that died. */
  private static final Duration ABANDONED = Duration.ofHours(1);

  private final Path folder;

  LibraryCache(Path folder) {
    this.folder = folder;
  }

  /** The cache of this user. */
  static LibraryCache ofUser() throws IOException {
    Optional<Path> given = Config.ofProcess().find(ComputeSettings.NATIVE_CACHE);
    if (given.isPresent()) {
      return new LibraryCache(given.get());
    }
    Path own = ProcessEnvironment.cacheFolder().resolve("millrace");
    try {
      Files.createDirectories(own);
      if (Files.isWritable(own)) {
        return new LibraryCache(own);
      }
    } catch (IOException | SecurityException e) {
      // No home to write to, as in many containers: the temporary folder remains.
    }
    return new LibraryCache(privateTemporaryFolder());
  }

  /** Others may write to the temporary folder, so the one in it must be ours and closed to them. */
  private static Path privateTemporaryFolder() throws IOException {
    String user = ThisUser.name();
    Path folder = ProcessEnvironment.temporaryFolder().resolve("millrace-" + user);
    var closed = PosixFilePermissions.fromString("rwx------");
    if (!Files.exists(folder)) {
      try {
        Files.createDirectory(folder, PosixFilePermissions.asFileAttribute(closed));
      } catch (java.nio.file.FileAlreadyExistsException e) {
        // Another process was faster; it is checked below like any other.
      }
    }
    if (Files.isSymbolicLink(folder)
        || !Files.getOwner(folder).getName().equals(user)
        || !Files.getPosixFilePermissions(folder).equals(closed)) {
      throw new IOException(
          folder + " is not a folder for " + user + " alone; set -Dmillrace.native.cache");
    }
    return folder;
  }

  /**
   * A folder that holds exactly these class path resources as files, unpacked as far as they are
   * not there yet. Resources of other contents get another folder.
   */
  Path unpacked(List<URL> resources) throws IOException {
    URL first = resources.getFirst();
    if (first.getProtocol().equals("file")) {
      try {
        return Path.of(first.toURI()).getParent();
      } catch (URISyntaxException e) {
        throw new IOException("Not a path: " + first, e);
      }
    }
    Path target = null;
    for (URL resource : resources) {
      Content wanted = Content.of(resource);
      if (target == null) {
        target = folder.resolve("%s-%08x".formatted(fileName(resource), wanted.crc32()));
      }
      Path file = target.resolve(fileName(resource));
      if (!wanted.isIn(file)) {
        unpack(resource, wanted, file);
      }
    }
    return target;
  }

  private static String fileName(URL resource) {
    String path = resource.getPath();
    return path.substring(path.lastIndexOf('/') + 1);
  }

  private static void unpack(URL resource, Content wanted, Path target) throws IOException {
    Path parent = target.getParent();
    Files.createDirectories(parent);
    removeAbandoned(parent);
    Path part = Files.createTempFile(parent, target.getFileName().toString(), ".part");
    try {
      try (InputStream in = open(resource).getInputStream();
          OutputStream out = Files.newOutputStream(part)) {
        CheckedInputStream checked = new CheckedInputStream(in, new CRC32());
        Content found = new Content(checked.transferTo(out), checked.getChecksum().getValue());
        if (!found.equals(wanted)) {
          throw new IOException(resource + " holds " + found + ", expected " + wanted);
        }
      }
      Files.move(part, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(part);
    }
  }

  private static void removeAbandoned(Path parent) throws IOException {
    Instant before = Timers.system().wallTime().minus(ABANDONED);
    try (DirectoryStream<Path> parts = Files.newDirectoryStream(parent, "*.part")) {
      for (Path part : parts) {
        try {
          if (Files.getLastModifiedTime(part).toInstant().isBefore(before)) {
            Files.deleteIfExists(part);
          }
        } catch (NoSuchFileException e) {
          // Its writer has just renamed it: it was not abandoned.
        }
      }
    }
  }

  private static URLConnection open(URL resource) throws IOException {
    URLConnection c = resource.openConnection();
    c.setUseCaches(false);
    return c;
  }

  /** What tells one file's bytes from another's. */
  record Content(long size, long crc32) {
    static Content of(URL resource) throws IOException {
      URLConnection connection = open(resource);
      if (connection instanceof JarURLConnection jar) {
        try (JarFile file = jar.getJarFile()) {
          JarEntry entry = file.getJarEntry(jar.getEntryName());
          if (entry.getCrc() >= 0 && entry.getSize() >= 0) {
            return new Content(entry.getSize(), entry.getCrc());
          }
        }
        connection = open(resource);
      }
      try (CheckedInputStream in =
          new CheckedInputStream(connection.getInputStream(), new CRC32())) {
        long size = in.transferTo(OutputStream.nullOutputStream());
        return new Content(size, in.getChecksum().getValue());
      }
    }

    boolean isIn(Path file) throws IOException {
      if (!Files.isRegularFile(file) || Files.size(file) != size) {
        return false;
      }
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
        CRC32 crc = new CRC32();
        if (size > 0) {
          crc.update(channel.map(FileChannel.MapMode.READ_ONLY, 0, size));
        }
        return crc.getValue() == crc32;
      }
    }
  }
}
