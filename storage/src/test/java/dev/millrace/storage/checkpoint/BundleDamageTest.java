package dev.millrace.storage.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.Contents;
import dev.millrace.storage.Damage;
import dev.millrace.storage.Golden;
import dev.millrace.tensor.BufferPool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A damaged bundle is noticed, named, and costs no memory. */
class BundleDamageTest {
  @TempDir Path dir;
  private Path kinds;
  private Path parts;

  @BeforeEach
  void copyGoldenFiles() throws IOException {
    kinds = dir.resolve("kinds");
    parts = dir.resolve("parts");
    for (String file :
        new String[] {
          "kinds.index",
          "kinds.data-00000-of-00001",
          "parts.index",
          "parts.data-00000-of-00002",
          "parts.data-00001-of-00002"
        }) {
      Files.copy(Golden.path(file), dir.resolve(file));
    }
  }

  // README claim: save-checked
  @Test
  void everyDamagedByteOfTheDataIsNoticed() throws IOException {
    Path data = BundleIndex.dataFile(kinds, 0, 1);
    int bytes = (int) Files.size(data);
    assertEquals(3 * bytes, Damage.everyByte(data, () -> Contents.of(kinds)));
    assertEquals(bytes, Damage.everyLength(data, () -> Contents.of(kinds)));
  }

  @Test
  void damageToOneOfSeveralDataFilesIsNoticed() throws IOException {
    Path data = BundleIndex.dataFile(parts, 1, 2);
    int bytes = (int) Files.size(data);
    assertEquals(3 * bytes, Damage.everyByte(data, () -> Contents.of(parts)));
    assertEquals(bytes, Damage.everyLength(data, () -> Contents.of(parts)));
  }

  @Test
  void damageToTheIndexIsNoticedOrHarmless() throws IOException {
    for (Path prefix : new Path[] {kinds, parts}) {
      Path index = BundleIndex.file(prefix);
      Damage.everyByte(index, () -> Contents.of(prefix));
      Damage.randomRuns(index, 3, 300, () -> Contents.of(prefix));
      assertEquals(Files.size(index), Damage.everyLength(index, () -> Contents.of(prefix)));
    }
  }

  @Test
  void memoryIsGivenBackWhenReadingFails() throws IOException {
    Path data = BundleIndex.dataFile(kinds, 0, 1);
    byte[] bytes = Files.readAllBytes(data);
    bytes[bytes.length - 20] ^= 1;
    Files.write(data, bytes);
    long before = BufferPool.current().usedBytes();
    for (int i = 0; i < 10; i++) {
      assertThrows(MillraceException.class, () -> Contents.of(kinds));
    }
    assertTrue(BufferPool.current().usedBytes() <= before);
  }

  @Test
  void theErrorNamesTheFileAndTheTensor() throws IOException {
    Path data = BundleIndex.dataFile(kinds, 0, 1);
    byte[] bytes = Files.readAllBytes(data);
    bytes[0] ^= 1;
    Files.write(data, bytes);
    try (BundleReader reader = new BundleReader(kinds)) {
      MillraceException e = assertThrows(MillraceException.class, () -> reader.read("scalar"));
      assertEquals(Code.DATA_LOSS, e.code());
      assertTrue(e.getMessage().contains(data.toString()), e.getMessage());
      assertTrue(e.getMessage().contains("'scalar'"), e.getMessage());
      assertEquals(2, reader.read("i8").elements(), "other tensors can still be read");
    }
  }

  @Test
  void aMissingDataFileIsNamed() throws IOException {
    Path data = BundleIndex.dataFile(parts, 1, 2);
    Files.delete(data);
    try (BundleReader reader = new BundleReader(parts)) {
      assertEquals(3, reader.read("b0").elements());
      MillraceException e = assertThrows(MillraceException.class, () -> reader.read("p"));
      assertEquals(Code.DATA_LOSS, e.code());
      assertTrue(e.getMessage().contains(data.toString()), e.getMessage());
    }
  }
}
