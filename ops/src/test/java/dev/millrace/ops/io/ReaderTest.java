package dev.millrace.ops.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.ops.TinySession;
import dev.millrace.ops.queue.QueueAccess;
import dev.millrace.ops.queue.QueueHandles;
import dev.millrace.storage.record.RecordWriter;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReaderTest {
  @TempDir Path folder;

  @AutoClose private final TinySession session = new TinySession();
  private final Output queue =
      QueueHandles.fifo(session.scope(), List.of(DType.STRING), List.of(Shape.scalar()), -1);
  private final Output reader = session.scope().node("TFRecordReaderV2").add().output();
  private final Node read = session.scope().node("ReaderReadV2").input(reader).input(queue).add();

  private String records(String name, byte[]... records) {
    Path file = folder.resolve(name);
    try (RecordWriter writer = RecordWriter.create(file)) {
      for (byte[] r : records) {
        writer.write(r);
      }
    }
    return file.toString();
  }

  private void enqueue(String... names) {
    session.run(
        QueueAccess.enqueueMany(
            session.scope(), queue, List.of(session.constant(Tensor.vector(names)))));
  }

  private Output asked(String op) {
    return session.scope().node(op).input(reader).add().output();
  }

  @Test
  void recordsComeFileByFile() {
    String a = records("a", new byte[] {1, 2}, new byte[] {3});
    String b = records("b", new byte[] {4});
    enqueue(a, b);
    byte[][] expected = {{1, 2}, {3}, {4}};
    for (byte[] value : expected) {
      assertArrayEquals(value, session.run(read.output(0), read.output(1))[1].bytesAt(0));
    }
    assertEquals(3, session.fetch(asked("ReaderNumRecordsProducedV2")).longAt(0));
    assertEquals(1, session.fetch(asked("ReaderNumWorkUnitsCompletedV2")).longAt(0));
  }

  @Test
  void aKeyIsTheFileAndThePlaceInIt() {
    String a = records("a", new byte[] {1, 2}, new byte[] {3});
    enqueue(a);
    assertEquals(a + ":0", session.fetch(read.output(0)).stringAt(0));
    assertEquals(a + ":18", session.fetch(read.output(0)).stringAt(0));
  }

  @Test
  void theEndOfTheQueueIsTheEnd() {
    session.run(QueueAccess.close(session.scope(), queue, false));
    MillraceException e =
        assertThrows(MillraceException.class, () -> session.fetch(read.output(0)));
    assertEquals(Code.OUT_OF_RANGE, e.code());
  }

  @Test
  void aMissingFileIsNamedAndTheNextOneIsRead() {
    String a = records("a", new byte[] {9});
    enqueue(folder.resolve("nothing").toString(), a);
    MillraceException e =
        assertThrows(MillraceException.class, () -> session.fetch(read.output(1)));
    assertEquals(Code.NOT_FOUND, e.code());
    assertTrue(e.getMessage().contains("nothing"), e::getMessage);
    assertArrayEquals(new byte[] {9}, session.fetch(read.output(1)).bytesAt(0));
  }

  @Test
  void anUnknownCompressionIsRefused() {
    Output odd =
        session
            .scope()
            .withName("odd")
            .node("TFRecordReaderV2")
            .attr("compression_type", "LZ4")
            .add()
            .output();
    MillraceException e = assertThrows(MillraceException.class, () -> session.fetch(odd));
    assertTrue(e.getMessage().contains("'odd'") && e.getMessage().contains("LZ4"), e::getMessage);
  }
}
