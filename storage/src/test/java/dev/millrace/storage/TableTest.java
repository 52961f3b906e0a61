package dev.millrace.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.table.TableKeys;
import dev.millrace.storage.table.TableReader;
import dev.millrace.storage.table.TableWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TableTest {
  @TempDir Path dir;

  private static Map<ByteString, ByteString> read(Path file) {
    Map<ByteString, ByteString> entries = new LinkedHashMap<>();
    TableReader.scan(file, entries::put);
    return entries;
  }

  private static void write(Path target, Map<ByteString, ByteString> entries) {
    try (AtomicFile file = new AtomicFile(target)) {
      TableWriter table = new TableWriter(file);
      entries.forEach(table::add);
      table.finish();
      file.seal();
      file.publish();
    }
  }

  private static Map<ByteString, ByteString> random(long seed, int count, int valueBytes) {
    Random random = new Random(seed);
    Map<ByteString, ByteString> entries = new TreeMap<>(TableWriter.KEY_ORDER);
    for (int i = 0; i < count; i++) {
      // A small alphabet with the extremes in it, so that keys share prefixes.
      byte[] key = new byte[random.nextInt(12)];
      for (int k = 0; k < key.length; k++) {
        key[k] = new byte[] {0, 'a', 'b', (byte) 0xFE, (byte) 0xFF}[random.nextInt(5)];
      }
      byte[] value = new byte[random.nextInt(valueBytes)];
      random.nextBytes(value);
      entries.put(ByteString.copyFrom(key), ByteString.copyFrom(value));
    }
    return entries;
  }

  @Test
  void whatIsWrittenIsReadInOrder() {
    for (int seed = 0; seed < 30; seed++) {
      Map<ByteString, ByteString> entries = random(seed, seed * seed, seed % 3 == 0 ? 5000 : 10);
      Path file = dir.resolve("t" + seed);
      write(file, entries);
      Map<ByteString, ByteString> found = read(file);
      assertEquals(entries, found);
      assertArrayEquals(entries.keySet().toArray(), found.keySet().toArray());
    }
  }

  @Test
  void aTableCopiedFromTensorFlowIsTheSameFile() throws IOException {
    for (String name : new String[] {"kinds.index", "parts.index"}) {
      Path copy = dir.resolve(name);
      write(copy, read(Golden.path(name)));
      assertArrayEquals(Files.readAllBytes(Golden.path(name)), Files.readAllBytes(copy));
    }
  }

  @Test
  void compressedBlocksAreRead() {
    Map<ByteString, ByteString> entries = read(Golden.path("snappy.index"));
    assertEquals(61, entries.size());
    assertTrue(entries.containsKey(ByteString.copyFromUtf8("layer_59/weights")));
  }

  @Test
  void damageIsNoticed() throws IOException {
    Path file = dir.resolve("t");
    write(file, random(3, 60, 8));
    Damage.everyByte(file, () -> read(file));
    Damage.randomRuns(file, 5, 500, () -> read(file));
    int lengths = (int) Files.size(file);
    assertEquals(lengths, Damage.everyLength(file, () -> read(file)));
    Files.copy(Golden.path("snappy.index"), dir.resolve("s"));
    Damage.everyByte(dir.resolve("s"), () -> read(dir.resolve("s")));
  }

  @Test
  void keysOutOfOrderAreRefused() {
    ByteString a = ByteString.copyFromUtf8("a");
    try (AtomicFile file = new AtomicFile(dir.resolve("t"))) {
      TableWriter table = new TableWriter(file);
      table.add(a, a);
      assertThrows(MillraceException.class, () -> table.add(a, a));
    }
  }

  @Test
  void indexKeysSeparate() {
    Random random = new Random(9);
    for (int round = 0; round < 2000; round++) {
      ByteString[] keys = random(round, 2, 2).keySet().toArray(new ByteString[0]);
      if (keys.length == 2 && random.nextBoolean()) {
        ByteString between = TableKeys.between(keys[0], keys[1]);
        assertTrue(TableWriter.KEY_ORDER.compare(keys[0], between) <= 0);
        assertTrue(TableWriter.KEY_ORDER.compare(between, keys[1]) < 0);
      }
      ByteString after = TableKeys.after(keys[0]);
      assertTrue(TableWriter.KEY_ORDER.compare(keys[0], after) <= 0);
    }
  }
}
