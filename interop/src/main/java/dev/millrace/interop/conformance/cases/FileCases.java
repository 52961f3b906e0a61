package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Scenario;
import dev.millrace.storage.record.RecordWriter;
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

  public FileCases() {
    save();
    saveSlices();
    reader("TFRecordReader", Map.of(), recordFiles());
    reader("TextLineReader", Map.of("skip_header_lines", 1), textFiles());
    reader("WholeFileReader", Map.of(), textFiles());
    reader("FixedLengthRecordReader", Map.of("record_bytes", 3), textFiles());
    reader(
        "FixedLengthRecordReader",
        Map.of("record_bytes", 4, "header_bytes", 2, "footer_bytes", 1, "hop_bytes", 2),
        textFiles());
    reader("IdentityReader", Map.of(), List.of("one", "two", "three", "four", "five", "six"));
    missingFile();
    matchingFiles();
    vocabularies();
    remappedMatrix();
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

  private void matchingFiles() {
    Scenario s = scenario("MatchingFiles");
    GraphWriter g = s.graph();
    Path folder = Path.of(textFiles().getFirst()).getParent();
    int i = 0;
    g.constant("noPattern", Tensor.vector(new String[0]));
    g.add("matchNone", "MatchingFiles", Map.of(), "noPattern");
    s.fetch("matchNone");
    for (String pattern : List.of("text*", "text[12]", "t?xt0", "none*", "none/*", "**", "text1")) {
      g.constant("pattern" + i, Tensor.scalar(folder.resolve(pattern).toString()));
      g.add("match" + i, "MatchingFiles", Map.of(), "pattern" + i);
      s.fetch("match" + i++);
    }
    g.constant(
        "both",
        Tensor.vector(folder.resolve("text2").toString(), folder.resolve("text[01]").toString()));
    g.add("matchBoth", "MatchingFiles", Map.of(), "both");
    s.fetch("matchBoth");
  }

  private void vocabularies() {
    Scenario s = scenario("GenerateVocabRemapping");
    GraphWriter g = s.graph();
    List<String> files = vocabularyFiles();
    for (int i = 0; i < files.size(); i++) {
      g.constant("file" + i, Tensor.scalar(files.get(i)));
    }
    g.add(
        "emptyLine",
        "GenerateVocabRemapping",
        Map.of("new_vocab_offset", 0, "num_new_vocab", 1),
        "file0",
        "file2");
    s.fails(Code.INVALID_ARGUMENT, "emptyLine");
    remapping(s, "same", Map.of("new_vocab_offset", 0, "num_new_vocab", 5), "file0", "file0");
    remapping(s, "other", Map.of("new_vocab_offset", 0, "num_new_vocab", 3), "file1", "file0");
    remapping(s, "offset", Map.of("new_vocab_offset", 2, "num_new_vocab", 2), "file0", "file0");
    Map<String, Object> shortened =
        Map.of("new_vocab_offset", 0, "num_new_vocab", 5, "old_vocab_size", 2);
    remapping(s, "shortened", shortened, "file0", "file0");
    Map<String, Object> tooLong = Map.of("new_vocab_offset", 1, "num_new_vocab", 3);
    g.add("tooLong", "GenerateVocabRemapping", tooLong, "file1", "file0");
    s.fails(Code.INVALID_ARGUMENT, "tooLong");
  }

  private static List<String> vocabularyFiles() {
    Path folder = TextCases.folder();
    try {
      Files.writeString(folder.resolve("words0"), "head\none\ntwo\nthree\nfour");
      Files.writeString(folder.resolve("words1"), "four\nfive\nhead\n");
      Files.writeString(folder.resolve("words2"), "head\n\nseven\n");
    } catch (IOException e) {
      throw MillraceException.of(e);
    }
    return names(folder, "words");
  }

  private static void remapping(
      Scenario s, String name, Map<String, Object> attrs, String newFile, String oldFile) {
    s.graph().add(name, "GenerateVocabRemapping", attrs, newFile, oldFile);
    s.fetch(name + ":0", name + ":1");
  }

  private void remappedMatrix() {
    Scenario s = scenario("LoadAndRemapMatrix");
    GraphWriter g = s.graph();
    g.constant("path", Tensor.scalar(TextCases.folder().resolve("matrix").toString()));
    g.constant("name", Tensor.scalar("w"));
    g.constant("names", Tensor.vector("w"));
    g.constant("slices", Tensor.vector(""));
    g.constant("w", floats(5, 3));
    g.add("save", "SaveV2", Map.of(), "path", "names", "slices", "w");
    s.run("save");
    g.constant("none", Tensor.vector(new long[0]));
    g.constant("noValues", Tensor.vector(new float[0]));
    g.constant("rows", Tensor.vector(4L, 0L, -1L, 2L));
    g.constant("columns", Tensor.vector(1L, -1L));
    g.constant("rowValues", Tensor.vector(7f, 8f, 9f));
    g.constant("values", Tensor.vector(7f, 8f, 9f, 10f, 11f));
    g.constant("reversed", Tensor.vector(4L, 3L, 2L, 1L, 0L));
    g.constant("twice", Tensor.vector(1L, 1L));
    for (int max : List.of(-1, 2)) {
      matrix(g, "reverse" + max, 5, 3, max, "reversed", "none", "noValues");
      matrix(g, "someRows" + max, 4, 3, max, "rows", "none", "rowValues");
      matrix(g, "someOfBoth" + max, 4, 2, max, "rows", "columns", "values");
      s.fetch("reverse" + max, "someRows" + max, "someOfBoth" + max);
    }
    matrix(g, "doubled", 2, 3, -1, "twice", "none", "noValues");
    s.fails(Code.UNIMPLEMENTED, "doubled");
    matrix(g, "tooFew", 4, 2, -1, "rows", "columns", "rowValues");
    s.fails(Code.INVALID_ARGUMENT, "tooFew");
  }

  private static void matrix(
      GraphWriter g, String name, int rows, int columns, int max, String... remappings) {
    g.add(
        name,
        "LoadAndRemapMatrix",
        Map.of("num_rows", rows, "num_cols", columns, "max_rows_in_memory", max),
        "path",
        "name",
        remappings[0],
        remappings[1],
        remappings[2]);
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
