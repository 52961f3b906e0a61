package dev.millrace.examples.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.proto.Event;
import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.storage.checkpoint.BundleWriter;
import dev.millrace.storage.record.EventReader;
import dev.millrace.storage.record.EventWriter;
import dev.millrace.storage.record.RecordReader;
import dev.millrace.storage.record.RecordWriter;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The samples of file-formats.md. */
class FileFormatsTest {
  @TempDir Path folder;

  @Test
  void recordsAreWrittenAndRead() {
    List<String> read = new ArrayList<>();
    // sample records
    Path file = folder.resolve("data.tfrecord");
    try (RecordWriter writer = RecordWriter.create(file)) {
      writer.write("one".getBytes());
      writer.write("two".getBytes());
    }
    try (RecordReader reader = RecordReader.open(file)) {
      for (byte[] record = reader.next(); record != null; record = reader.next()) {
        read.add(new String(record));
      }
    }
    // end
    assertEquals(List.of("one", "two"), read);
  }

  @Test
  void checkpointsAreWrittenAndRead() {
    // sample bundle
    Path prefix = folder.resolve("model.ckpt-7");
    try (BundleWriter writer = new BundleWriter(prefix)) {
      writer.add("layer/kernel", Tensor.vector(1f, 2f));
      writer.finish();
    }
    try (BundleReader reader = new BundleReader(prefix)) {
      System.out.println(reader.read("layer/kernel")); // float[2] {1.0, 2.0}
    }
    // end
    try (BundleReader reader = new BundleReader(prefix)) {
      assertEquals("float[2] {1.0, 2.0}", reader.read("layer/kernel").toString());
    }
  }

  @Test
  void eventsAreWrittenAndRead() {
    List<Float> losses = new ArrayList<>();
    // sample events
    Path file;
    try (EventWriter writer = new EventWriter(folder)) {
      writer.addScalar("loss", .5f, 1);
      writer.addScalar("loss", .25f, 2);
      file = writer.file();
    }
    try (EventReader reader = new EventReader(file)) {
      for (Optional<Event> e = reader.next(); e.isPresent(); e = reader.next()) {
        e.get().getSummary().getValueList().forEach(v -> losses.add(v.getSimpleValue()));
      }
    }
    // end
    assertEquals(List.of(.5f, .25f), losses);
  }
}
