package dev.millrace.tensor.math.onednn;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.io.IOException;
import java.net.URI;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LibraryCacheTest {
  @TempDir Path folder;

  private final byte[] first = bytes(1, 100_000);
  private final byte[] second = bytes(2, 5_000);

  @Test
  void filesOfAJarAreUnpackedIntoOneFolder() throws IOException {
    LibraryCache cache = new LibraryCache(folder.resolve("cache"));
    Path unpacked = cache.unpacked(jar("a.jar", first, second));
    assertArrayEquals(first, Files.readAllBytes(unpacked.resolve("liba.so")));
    assertArrayEquals(second, Files.readAllBytes(unpacked.resolve("libb.so")));
    try (Stream<Path> files = Files.list(unpacked)) {
      assertEquals(2, files.count());
    }
  }

  @Test
  void aWholeFileIsUsedAsItIs() throws IOException {
    LibraryCache cache = new LibraryCache(folder.resolve("cache"));
    List<URL> jar = jar("a.jar", first, second);
    Path file = cache.unpacked(jar).resolve("liba.so");
    FileTime old = FileTime.from(Instant.parse("2020-01-01T00:00:00Z"));
    Files.setLastModifiedTime(file, old);
    cache.unpacked(jar);
    assertEquals(old, Files.getLastModifiedTime(file));
  }

  @Test
  void aShortOrChangedFileIsReplaced() throws IOException {
    LibraryCache cache = new LibraryCache(folder.resolve("cache"));
    List<URL> jar = jar("a.jar", first, second);
    Path file = cache.unpacked(jar).resolve("liba.so");
    Files.write(file, new byte[] {1, 2, 3});
    cache.unpacked(jar);
    assertArrayEquals(first, Files.readAllBytes(file));
    byte[] changed = first.clone();
    changed[5000] ^= 1;
    Files.write(file, changed);
    cache.unpacked(jar);
    assertArrayEquals(first, Files.readAllBytes(file));
  }

  @Test
  void otherContentsGoToAnotherFolder() throws IOException {
    LibraryCache cache = new LibraryCache(folder.resolve("cache"));
    assertNotEquals(
        cache.unpacked(jar("a.jar", first, second)), cache.unpacked(jar("b.jar", second, first)));
  }

  @Test
  void manyMayUnpackAtOnce() throws Exception {
    LibraryCache cache = new LibraryCache(folder.resolve("cache"));
    List<URL> jar = jar("a.jar", first, second);
    Callable<byte[]> unpack = () -> Files.readAllBytes(cache.unpacked(jar).resolve("liba.so"));
    try (var threads = Executors.newFixedThreadPool(8)) {
      for (var result : threads.invokeAll(java.util.Collections.nCopies(16, unpack))) {
        assertArrayEquals(first, result.get());
      }
    }
  }

  @Test
  void whatADeadProcessLeftIsRemoved() throws IOException {
    LibraryCache cache = new LibraryCache(folder.resolve("cache"));
    Path file = cache.unpacked(jar("a.jar", first, second)).resolve("liba.so");
    Files.delete(file);
    Path left = Files.write(file.resolveSibling("x123.part"), new byte[9]);
    Files.setLastModifiedTime(left, FileTime.from(Instant.parse("2020-01-01T00:00:00Z")));
    cache.unpacked(jar("a.jar", first, second));
    assertArrayEquals(first, Files.readAllBytes(file));
    assertEquals(false, Files.exists(left));
  }

  private List<URL> jar(String name, byte[] a, byte[] b) throws IOException {
    Path jar = folder.resolve(name);
    try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(jar))) {
      zip.putNextEntry(new ZipEntry("lib/liba.so"));
      zip.write(a);
      zip.putNextEntry(new ZipEntry("lib/libb.so"));
      zip.write(b);
    }
    String prefix = "jar:" + jar.toUri() + "!/lib/";
    return List.of(URI.create(prefix + "liba.so").toURL(), URI.create(prefix + "libb.so").toURL());
  }

  private static byte[] bytes(int seed, int size) {
    byte[] b = new byte[size];
    new Random(seed).nextBytes(b);
    return b;
  }
}
