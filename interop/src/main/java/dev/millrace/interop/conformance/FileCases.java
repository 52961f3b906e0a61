package dev.millrace.interop.conformance;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.interop.GraphWriter;
import dev.millrace.storage.RecordWriter;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Checkpoints of version 1, and readers of files whose names are in a queue. */
public final class FileCases extends CaseTable {
  private static final Map<String, Object> NAMES = Map.of("component_types", List.of(DType.STRING));

  FileCases() {
    save();
    saveSlices();
    reader("TFRecordReader", Map.of(), recordFiles());
    reader("TextLineReader", Map.of("skip_header_lines", 1), textFiles());
    reader("WholeFileReader", Map.of(), textFiles());
    reader("IdentityReader", Map.of(), List.of("one", "two", "three", "four", "five", "six"));
    missingFile();
  }

  private void save() {
    Scenario s = scenario("Save and Restore");
    GraphWriter g = s.graph();
    g.constant("file", Tensor.scalar(TextCases.folder().resolve("model").toString()));
    g.constant("names", Tensor.vector("a", "b", "s"));
    g.constant("a", floats(3, 4));
    g.constant("b", any(DType.INT64));
    g.constant("s", Tensor.vector("x", "longer than the short form of a string"));
    g.add("save", "Save", Map.of(), "file", "names", "a", "b", "s");
    restore(g, "a", DType.FLOAT, "a", "Restore");
    restore(g, "b", DType.INT64, "b", "Restore");
    restore(g, "s", DType.STRING, "s", "Restore");
    restore(g, "missing", DType.FLOAT, "c", "Restore");
    restore(g, "mistyped", DType.FLOAT, "b", "Restore");
    g.constant("nowhere", Tensor.scalar("/nowhere/at/all"));
    g.add("lost", "Restore", Map.of("dt", DType.FLOAT), "nowhere", "name_a");
    s.run("save").fails(Code.NOT_FOUND, "lost").fetch("restore_a", "restore_b", "restore_s");
    s.fails(Code.NOT_FOUND, "restore_missing").fails(Code.INVALID_ARGUMENT, "restore_mistyped");
  }

  private static void restore(GraphWriter g, String name, DType type, String tensor, String op) {
    g.constant("name_" + name, Tensor.scalar(tensor));
    g.add("restore_" + name, op, Map.of("dt", type), "file", "name_" + name);
  }

  /** A tensor whose parts are in two files, restored by a pattern that matches both. */
  private void saveSlices() {
    Scenario s = scenario("SaveSlices and RestoreSlice");
    GraphWriter g = s.graph();
    Path folder = TextCases.folder();
    g.constant("names", Tensor.vector("w"));
    g.constant("name", Tensor.scalar("w"));
    for (int part = 0; part < 2; part++) {
      g.constant("file" + part, Tensor.scalar(folder.resolve("model-" + part).toString()));
      g.constant("slices" + part, Tensor.vector("4 3 " + 2 * part + ",2:-"));
      g.constant("w" + part, floats(2, 3));
      g.add(
          "save" + part,
          "SaveSlices",
          Map.of(),
          "file" + part,
          "names",
          "slices" + part,
          "w" + part);
    }
    g.constant("pattern", Tensor.scalar(folder.resolve("model-*").toString()));
    for (String slice : List.of("", "4 3 1,2:-", "4 3 0,4:1,1", "4 3 2,2:-", "5 3 1,2:-")) {
      String name = "slice_" + slice.replaceAll("[^0-9]", "");
      g.constant(name, Tensor.scalar(slice));
      g.add("restore" + name, "RestoreSlice", Map.of("dt", DType.FLOAT), "pattern", "name", name);
    }
    s.run("save0", "save1");
    s.fetch("restoreslice_", "restoreslice_4312", "restoreslice_430411", "restoreslice_4322");
  }

  /** Each file in turn, then its end; how much was read; and from the start again. */
  private void reader(String op, Map<String, Object> attrs, List<String> files) {
    Scenario s = scenario(op + "V2");
    GraphWriter g = s.graph();
    g.add("reader", op + "V2", attrs);
    g.add("queue", "FIFOQueueV2", NAMES);
    g.constant("files", Tensor.vector(files.toArray(String[]::new)));
    g.constant("three", Tensor.scalar(3L));
    g.add("fill", "QueueEnqueueManyV2", Map.of(), "queue", "files");
    g.add("close", "QueueCloseV2", Map.of(), "queue");
    g.add("read", "ReaderReadV2", Map.of(), "reader", "queue");
    g.add("some", "ReaderReadUpToV2", Map.of(), "reader", "queue", "three");
    g.add("produced", "ReaderNumRecordsProducedV2", Map.of(), "reader");
    g.add("completed", "ReaderNumWorkUnitsCompletedV2", Map.of(), "reader");
    g.add("reset", "ReaderResetV2", Map.of(), "reader");
    s.run("fill").fetch("read:0", "read:1").fetch("produced", "completed");
    s.fetch("some:0", "some:1").fetch("some:0", "some:1").fetch("produced", "completed");
    s.run("reset").fetch("produced", "completed");
    s.run("fill").run("close").fetch("read:0", "read:1");
    for (int i = 0; i < 3; i++) {
      s.fetch("produced", "completed");
    }
    s.run("reset");
  }

  private void missingFile() {
    Scenario s = scenario("TFRecordReaderV2 of a file that is not there");
    GraphWriter g = s.graph();
    g.add("reader", "TFRecordReaderV2", Map.of());
    g.add("queue", "FIFOQueueV2", NAMES);
    g.constant("file", Tensor.scalar("/nowhere/at/all"));
    g.add("put", "QueueEnqueueV2", Map.of(), "queue", "file");
    g.add("close", "QueueCloseV2", Map.of(), "queue");
    g.add("read", "ReaderReadV2", Map.of(), "reader", "queue");
    s.run("put").run("close").fails(Code.NOT_FOUND, "read").fails(Code.OUT_OF_RANGE, "read");
  }

  private static List<String> recordFiles() {
    Path folder = TextCases.folder();
    for (int file = 0; file < 3; file++) {
      try (RecordWriter writer = RecordWriter.create(folder.resolve("records" + file))) {
        for (int i = 0; i < 5; i++) {
          writer.write(new byte[7 * i + file]);
        }
      }
    }
    return names(folder, "records");
  }

  private static List<String> textFiles() {
    Path folder = TextCases.folder();
    try {
      Files.writeString(folder.resolve("text0"), "head\none\r\n\nthree\nfour");
      Files.writeString(folder.resolve("text1"), "head\nfive\nsix\n");
      Files.writeString(folder.resolve("text2"), "head\nseven");
    } catch (IOException e) {
      throw MillraceException.of(e);
    }
    return names(folder, "text");
  }

  private static List<String> names(Path folder, String name) {
    return List.of(
        folder.resolve(name + 0).toString(),
        folder.resolve(name + 1).toString(),
        folder.resolve(name + 2).toString());
  }
}
