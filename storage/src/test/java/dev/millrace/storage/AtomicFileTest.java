package dev.millrace.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AtomicFileTest {
  @TempDir Path dir;

  private List<Path> files() throws IOException {
    try (var list = Files.list(dir)) {
      return list.toList();
    }
  }

  @Test
  void theOldFileStaysUntilTheNewOneIsPublished() throws IOException {
    Path target = dir.resolve("f");
    AtomicFile.write(target, "old".getBytes());
    try (AtomicFile file = new AtomicFile(target)) {
      file.write(ByteBuffer.wrap("new".getBytes()));
      file.seal();
      assertEquals("old", Files.readString(target));
      file.publish();
      assertEquals("new", Files.readString(target));
    }
    assertEquals(List.of(target), files());
  }

  @Test
  void anUnpublishedFileLeavesNothing() throws IOException {
    try (AtomicFile file = new AtomicFile(dir.resolve("f"))) {
      file.write(ByteBuffer.allocate(1 << 20));
    }
    try (AtomicFile sealed = new AtomicFile(dir.resolve("f"))) {
      sealed.seal();
    }
    assertEquals(List.of(), files());
  }

  @Test
  void pieceSizesDoNotShow() throws IOException {
    byte[] bytes = new byte[1 << 20];
    new Random(1).nextBytes(bytes);
    Path target = dir.resolve("f");
    try (AtomicFile file = new AtomicFile(target)) {
      for (int at = 0, n = 1; at < bytes.length; at += n, n = Math.min(3 * n, bytes.length - at)) {
        file.write(ByteBuffer.wrap(bytes, at, n));
        assertEquals(at + n, file.position());
      }
      file.seal();
      file.publish();
      assertArrayEquals(bytes, Files.readAllBytes(target));
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void memoryLargerThanAPieceIsWrittenWhole(boolean stable) throws IOException {
    int size = (3 << 20) + 4;
    Path target = dir.resolve("f");
    try (Arena arena = Arena.ofConfined();
        AtomicFile file = new AtomicFile(target)) {
      MemorySegment memory = arena.allocate(size);
      for (int at = 0; at < size; at += 4096) {
        memory.set(ValueLayout.JAVA_INT, at, at);
      }
      CRC32C crc = new CRC32C();
      if (stable) {
        file.writeStable(memory, crc);
      } else {
        file.write(memory, crc);
      }
      assertEquals(size, file.position());
      file.seal();
      file.publish();
      CRC32C expected = new CRC32C();
      expected.update(memory.asByteBuffer());
      assertEquals(expected.getValue(), crc.getValue());
      try (FileChannel channel = FileChannel.open(target)) {
        MemorySegment mapped = channel.map(FileChannel.MapMode.READ_ONLY, 0, size, arena);
        assertEquals(-1, mapped.mismatch(memory));
      }
    }
  }

  @Test
  void checksumIsOfWhatWasWrittenThoughTheMemoryChanges() throws Exception {
    int size = 8 << 20;
    Path target = dir.resolve("f");
    try (Arena arena = Arena.ofShared()) {
      MemorySegment memory = arena.allocate(size);
      AtomicBoolean done = new AtomicBoolean();
      AtomicInteger rounds = new AtomicInteger();
      Thread changer =
          Thread.ofPlatform()
              .start(
                  () -> {
                    while (!done.get()) {
                      memory.fill((byte) rounds.incrementAndGet());
                    }
                  });
      try {
        for (int i = 0; i < 20; i++) {
          int before = rounds.get();
          CRC32C crc = new CRC32C();
          try (AtomicFile file = new AtomicFile(target)) {
            do {
              crc.reset();
              long start = file.position();
              file.write(memory, crc);
              assertEquals(start + size, file.position());
            } while (rounds.get() == before);
            file.seal();
            file.publish();
          }
          byte[] written = Files.readAllBytes(target);
          CRC32C expected = new CRC32C();
          expected.update(written, written.length - size, size);
          assertEquals(expected.getValue(), crc.getValue());
        }
      } finally {
        done.set(true);
        changer.join();
      }
    }
  }
}
