package dev.millrace.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.storage.record.RecordReader;
import dev.millrace.storage.record.RecordReader.Compression;
import dev.millrace.storage.record.RecordWriter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RecordTest {
  @TempDir Path dir;

  private static List<byte[]> goldenRecords() {
    byte[] xs = new byte[3000];
    Arrays.fill(xs, (byte) 'x');
    byte[] all = new byte[256];
    for (int i = 0; i < 256; i++) {
      all[i] = (byte) i;
    }
    return List.of(new byte[0], "abc".getBytes(), xs, all);
  }

  private static List<byte[]> readAll(Path file, Compression compression) {
    try (RecordReader reader = RecordReader.open(file, compression)) {
      List<byte[]> records = new ArrayList<>();
      for (byte[] r = reader.next(); r != null; r = reader.next()) {
        records.add(r);
      }
      return records;
    }
  }

  private static void write(Path file, List<byte[]> records) {
    try (RecordWriter writer = RecordWriter.create(file)) {
      records.forEach(writer::write);
    }
  }

  private static void assertSame(List<byte[]> expected, List<byte[]> found) {
    assertEquals(hex(expected), hex(found));
  }

  private static List<String> hex(List<byte[]> records) {
    return records.stream().map(HexFormat.of()::formatHex).toList();
  }

  @ParameterizedTest
  @EnumSource(Compression.class)
  void readsWhatTensorFlowWrote(Compression compression) {
    String extension =
        switch (compression) {
          case NONE -> "plain";
          case GZIP -> "gz";
          case ZLIB -> "zlib";
        };
    assertSame(goldenRecords(), readAll(Golden.path("records." + extension), compression));
  }

  @Test
  void writesTheBytesTensorFlowWrites() throws IOException {
    Path file = dir.resolve("r");
    write(file, goldenRecords());
    assertArrayEquals(Files.readAllBytes(Golden.path("records.plain")), Files.readAllBytes(file));
  }

  @Test
  void whatIsWrittenIsRead() {
    for (int seed = 0; seed < 20; seed++) {
      Random random = new Random(seed);
      List<byte[]> records = new ArrayList<>();
      for (int i = random.nextInt(30); i >= 0; i--) {
        // Sizes around those of the buffers on both sides.
        byte[] r = new byte[random.nextBoolean() ? random.nextInt(50) : random.nextInt(600_000)];
        random.nextBytes(r);
        records.add(r);
      }
      Path file = dir.resolve("r" + seed);
      write(file, records);
      assertSame(records, readAll(file, Compression.NONE));
    }
  }

  @ParameterizedTest
  @EnumSource(Compression.class)
  void damageIsNoticed(Compression compression) throws IOException {
    Path file = dir.resolve("r");
    Path golden = Golden.path(compression == Compression.GZIP ? "records.gz" : "records.zlib");
    if (compression == Compression.NONE) {
      write(file, List.of(new byte[0], "abc".getBytes(), new byte[100]));
    } else {
      Files.copy(golden, file);
    }
    int bytes = (int) Files.size(file);
    int noticed = Damage.everyByte(file, () -> hex(readAll(file, compression)));
    if (compression == Compression.NONE) {
      assertEquals(3 * bytes, noticed, "every byte of a record is covered by a checksum");
    }
    Damage.randomRuns(file, 7, 300, () -> hex(readAll(file, compression)));
  }

  @Test
  void aFileCutShortGivesItsWholeRecordsFirst() throws IOException {
    Path file = dir.resolve("r");
    List<byte[]> records = List.of(new byte[10], new byte[20]);
    write(file, records);
    byte[] whole = Files.readAllBytes(file);
    for (int length = 0; length < whole.length; length++) {
      Files.write(file, Arrays.copyOf(whole, length));
      try (RecordReader reader = RecordReader.open(file)) {
        int complete = length < 26 ? 0 : 1;
        for (int i = 0; i < complete; i++) {
          assertArrayEquals(records.get(i), reader.next());
        }
        if (length == 0 || length == 26) {
          assertNull(reader.next());
        } else {
          MillraceException e = assertThrows(MillraceException.class, reader::next);
          assertEquals(Code.DATA_LOSS, e.code());
          assertTrue(e.getMessage().contains(file.toString()), e.getMessage());
        }
      }
    }
  }

  @Test
  void anAbsurdLengthTakesNoMemory() throws IOException {
    for (long length : new long[] {Integer.MAX_VALUE - 100L, 1L << 40, -1}) {
      ByteBuffer header = ByteBuffer.allocate(100).order(ByteOrder.LITTLE_ENDIAN);
      header.putLong(0, length);
      header.putInt(8, Checksum.masked(header.array(), 0, 8));
      Path file = dir.resolve("absurd");
      Files.write(file, header.array());
      try (RecordReader reader = RecordReader.open(file)) {
        MillraceException e = assertThrows(MillraceException.class, reader::next);
        assertEquals(Code.DATA_LOSS, e.code());
      }
    }
  }

  @Test
  void aFollowerSeesRecordsAsTheyComplete() throws IOException {
    Path written = dir.resolve("w");
    write(written, List.of("first".getBytes(), "second".getBytes()));
    byte[] bytes = Files.readAllBytes(written);
    Path file = dir.resolve("f");
    Files.write(file, new byte[0]);
    List<String> seen = new ArrayList<>();
    try (RecordReader reader = RecordReader.follow(file)) {
      for (byte b : bytes) {
        Files.write(file, new byte[] {b}, StandardOpenOption.APPEND);
        byte[] r = reader.next();
        if (r != null) {
          seen.add(new String(r));
        }
      }
      assertNull(reader.next());
    }
    assertEquals(List.of("first", "second"), seen);
  }

  @Test
  void aMissingFileIsNotFound() {
    MillraceException e =
        assertThrows(MillraceException.class, () -> RecordReader.open(dir.resolve("none")));
    assertEquals(Code.NOT_FOUND, e.code());
  }

  @Test
  void aFullDiskIsReported() {
    Path full = Path.of("/dev/full");
    Assumptions.assumeTrue(Files.isWritable(full));
    RecordWriter writer = RecordWriter.create(full);
    writer.write(new byte[10]);
    MillraceException e = assertThrows(MillraceException.class, writer::flush);
    assertEquals(Code.RESOURCE_EXHAUSTED, e.code());
    writer.close();
  }
}
