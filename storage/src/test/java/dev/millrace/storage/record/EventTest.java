package dev.millrace.storage.record;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.Event;
import dev.millrace.storage.Golden;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

class EventTest {
  @TempDir Path dir;

  private static List<Event> readAll(Path file) {
    try (EventReader reader = new EventReader(file)) {
      List<Event> events = new ArrayList<>();
      for (Optional<Event> e = reader.next(); e.isPresent(); e = reader.next()) {
        events.add(e.get());
      }
      return events;
    }
  }

  @Test
  void readsWhatTensorFlowWrote() {
    List<Event> events = readAll(Golden.path("events"));
    assertEquals(2, events.size());
    assertEquals("brain.Event:2", events.get(0).getFileVersion());
    assertEquals(1, events.get(1).getStep());
    assertEquals("loss", events.get(1).getSummary().getValue(0).getTag());
  }

  @Test
  void theVersionComesFirstAndEventsKeepTheirOrder() {
    Path file;
    try (EventWriter writer = new EventWriter(dir.resolve("made/if/missing"))) {
      file = writer.file();
      for (int i = 0; i < 3000; i++) {
        writer.addScalar("loss", i, i);
      }
    }
    List<Event> events = readAll(file);
    assertEquals(3001, events.size());
    assertEquals("brain.Event:2", events.get(0).getFileVersion());
    for (int i = 0; i < 3000; i++) {
      Event e = events.get(i + 1);
      assertEquals(i, e.getStep());
      assertEquals((float) i, e.getSummary().getValue(0).getSimpleValue());
      assertTrue(e.getWallTime() > 1.6e9, "a time of its own");
    }
  }

  @Test
  void flushedEventsAreInTheFile() {
    try (EventWriter writer = new EventWriter(dir, ".test", Duration.ofHours(1));
        EventReader reader = new EventReader(writer.file())) {
      assertTrue(
          writer.file().getFileName().toString().matches("events\\.out\\.tfevents\\..*test"));
      assertTrue(reader.next().orElseThrow().hasFileVersion());
      assertTrue(reader.next().isEmpty());
      writer.addGraph(ByteString.copyFromUtf8("graph"));
      writer.flush();
      assertEquals("graph", reader.next().orElseThrow().getGraphDef().toStringUtf8());
      assertTrue(reader.next().isEmpty());
      writer.addScalar("a", 1, 5);
      writer.flush();
      assertEquals(5, reader.next().orElseThrow().getStep());
    }
  }

  @Test
  void everyWriterHasAFileOfItsOwn() {
    try (EventWriter a = new EventWriter(dir);
        EventWriter b = new EventWriter(dir)) {
      assertNotEquals(a.file(), b.file());
    }
  }

  @Test
  void manyThreadsMayAdd() throws InterruptedException {
    Path file;
    try (EventWriter writer = new EventWriter(dir)) {
      file = writer.file();
      List<Thread> threads = new ArrayList<>();
      for (int t = 0; t < 4; t++) {
        int id = t;
        threads.add(
            Thread.ofVirtual()
                .start(
                    () -> {
                      for (int i = 0; i < 1000; i++) {
                        writer.addScalar("t" + id, i, i);
                      }
                    }));
      }
      for (Thread t : threads) {
        assertTrue(t.join(Duration.ofSeconds(30)), "still adding events after 30 s");
      }
    }
    long[] next = new long[4];
    for (Event e : readAll(file)) {
      if (e.hasSummary()) {
        int id = e.getSummary().getValue(0).getTag().charAt(1) - '0';
        assertEquals(next[id]++, e.getStep());
      }
    }
    for (long n : next) {
      assertEquals(1000, n);
    }
  }

  @Test
  void aClosedWriterRefuses() {
    EventWriter writer = new EventWriter(dir);
    writer.close();
    writer.close();
    MillraceException e = assertThrows(MillraceException.class, () -> writer.addScalar("a", 1, 1));
    assertEquals(Code.FAILED_PRECONDITION, e.code());
    assertThrows(MillraceException.class, writer::flush);
  }

  @Test
  void aFailureToWriteIsThrownToTheNextCaller() {
    Path full = Path.of("/dev/full");
    Assumptions.assumeTrue(Files.isWritable(full));
    EventWriter writer = new EventWriter(RecordWriter.create(full), Duration.ofHours(1));
    writer.addScalar("a", 1, 1);
    for (Executable call : List.<Executable>of(writer::flush, writer::flush, writer::close)) {
      MillraceException e = assertThrows(MillraceException.class, call);
      assertEquals(Code.RESOURCE_EXHAUSTED, e.code());
    }
    writer.close();
  }
}
