package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Scenario;
import dev.millrace.interop.conformance.Values;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;

/** Tables: initialized, looked up, changed, saved and restored. */
public final class LookupCases extends CaseTable {
  public LookupCases() {
    for (String v : List.of("", "V2")) {
      fixed(v);
      mutable("MutableHashTable" + v, v, Tensor.vector(5f), Tensor.scalar(-1f));
      mutable("MutableHashTableOfTensors" + v, v, Tensor.of(Shape.of(1, 2), 1f, 2f), floats(2));
    }
    anonymous();
    files();
    dense(longs(2, 9, 17, 25, 33, 41), DType.INT64);
    dense(Tensor.vector("a", "bb", "ccc", "a longer key", "", "x"), DType.STRING);
  }

  private static Map<String, Object> types(DType key, DType value) {
    return Map.of("key_dtype", key, "value_dtype", value);
  }

  private void fixed(String v) {
    Scenario s = scenario("HashTable" + v);
    GraphWriter g = s.graph();
    g.add("t", "HashTable" + v, types(DType.STRING, DType.INT64));
    g.constant("keys", Tensor.vector("brain", "salad", "surgery"));
    g.constant("values", longs(0, 1, 2));
    g.constant("two", Tensor.vector("brain", "salad"));
    g.constant("less", longs(0, 1));
    g.constant("none", Tensor.scalar(-1L));
    g.constant("wanted", Tensor.of(Shape.of(2, 2), "salad", "tank", "", "brain"));
    g.add("init", "InitializeTable" + v, Map.of(), "t", "keys", "values");
    g.add("other", "InitializeTable" + v, Map.of(), "t", "two", "less");
    g.add("find", "LookupTableFind" + v, Map.of(), "t", "wanted", "none");
    g.add("size", "LookupTableSize" + v, Map.of(), "t");
    g.add("insert", "LookupTableInsert" + v, Map.of(), "t", "keys", "values");
    g.add("load", "LookupTableImport" + v, Map.of(), "t", "keys", "values");
    s.fetch("size").fails(Code.FAILED_PRECONDITION, "find");
    s.run("init").fetch("find", "size").run("init").run("load");
    s.fails(Code.FAILED_PRECONDITION, "other");
    s.fails(Code.UNIMPLEMENTED, "insert").fetch("find", "size");

    Scenario twice = scenario("InitializeTable" + v + " of one key twice");
    twice.graph().add("t", "HashTable" + v, types(DType.INT64, DType.STRING));
    twice.graph().constant("keys", longs(4, 4));
    twice.graph().constant("values", Tensor.vector("x", "y"));
    twice.graph().add("init", "InitializeTable" + v, Map.of(), "t", "keys", "values");
    twice.fails(Code.FAILED_PRECONDITION, "init");
  }

  private void mutable(String op, String v, Tensor value, Tensor missing) {
    Scenario s = scenario(op);
    GraphWriter g = s.graph();
    boolean ofTensors = value.shape().rank() > 1;
    g.add(
        "t",
        op,
        ofTensors
            ? Map.of(
                "key_dtype", DType.INT64,
                "value_dtype", DType.FLOAT,
                "value_shape", missing.shape())
            : types(DType.INT64, DType.FLOAT));
    g.constant("key", longs(7));
    g.constant("value", value);
    g.constant("missing", missing);
    g.constant("keys", longs(7, 8));
    g.constant("long", floats(3));
    g.add("insert", "LookupTableInsert" + v, Map.of(), "t", "key", "value");
    g.add("load", "LookupTableImport" + v, Map.of(), "t", "key", "value");
    g.add("wrong", "LookupTableInsert" + v, Map.of(), "t", "keys", "long");
    g.add("find", "LookupTableFind" + v, Map.of(), "t", "keys", "missing");
    g.add("size", "LookupTableSize" + v, Map.of(), "t");
    Map<String, DType> exported = Map.of("Tkeys", DType.INT64, "Tvalues", DType.FLOAT);
    g.add("export", "LookupTableExport" + v, exported, "t");
    s.fetch("find", "size").run("insert").fetch("find", "size").fetch("export:0", "export:1");
    s.fails(Code.INVALID_ARGUMENT, "wrong").run("load").fetch("size").run("insert").fetch("size");
    if (v.equals("V2")) {
      g.add("remove", "LookupTableRemoveV2", Map.of(), "t", "keys");
      s.run("remove").fetch("size").fetch("export:0", "export:1");
    }
  }

  private void anonymous() {
    anonymous(longs(3, 4), DType.INT64);
    anonymous(Tensor.vector("x", "y"), DType.FLOAT);
  }

  private void anonymous(Tensor keys, DType type) {
    DType key = keys.dtype();
    for (String op :
        List.of(
            "AnonymousHashTable",
            "AnonymousMutableHashTable",
            "AnonymousMutableHashTableOfTensors",
            "AnonymousMutableDenseHashTable")) {
      Scenario s = scenario(op + " of " + key);
      GraphWriter g = s.graph();
      g.constant("empty", key == DType.STRING ? Tensor.scalar("no") : scalar(key, -1));
      g.constant("deleted", key == DType.STRING ? Tensor.scalar("gone") : scalar(key, -2));
      boolean isDense = op.contains("Dense");
      boolean ofTensors = op.contains("OfTensors");
      g.add(
          "t",
          op,
          ofTensors
              ? Map.of("key_dtype", key, "value_dtype", type, "value_shape", Shape.of(1))
              : types(key, type),
          isDense ? new String[] {"empty", "deleted"} : new String[0]);
      g.constant("keys", keys);
      g.constant("values", ofTensors ? any(type, 2, 1) : any(type, 2));
      g.constant("missing", ofTensors ? any(type, 1) : any(type));
      g.add("load", "LookupTableImportV2", Map.of(), "t", "keys", "values");
      g.add("find", "LookupTableFindV2", Map.of(), "t", "keys", "missing");
      g.add("size", "LookupTableSizeV2", Map.of(), "t");
      s.fetch("size");
      if (op.equals("AnonymousHashTable")) {
        s.fails(Code.FAILED_PRECONDITION, "find");
      } else {
        s.fetch("find", "size");
      }
    }
  }

  private void files() {
    for (String v : List.of("", "V2")) {
      Scenario s = scenario("InitializeTableFromTextFile" + v);
      GraphWriter g = s.graph();
      g.constant("name", Tensor.scalar(TextCases.folder().resolve("words" + v).toString()));
      g.constant("lines", Tensor.scalar("one 1\ntwo 2\nthree 3\n"));
      g.constant("nowhere", Tensor.scalar("/no such folder/words"));
      g.constant("wanted", Tensor.vector("two", "four"));
      g.constant("whole", Tensor.vector("two 2", "four"));
      g.constant("none", Tensor.scalar(-1L));
      g.add("write", "WriteFile", Map.of(), "name", "lines");
      for (String t : List.of("byColumn", "byNumber", "tooLong", "fewColumns", "missing")) {
        g.add(t, "HashTable" + v, types(DType.STRING, DType.INT64));
      }
      String op = "InitializeTableFromTextFile" + v;
      Map<String, Object> columns = Map.of("key_index", 0, "value_index", 1, "delimiter", " ");
      g.add("a", op, columns, "byColumn", "name");
      g.add(
          "b",
          op,
          Map.of("key_index", -2, "value_index", -1, "offset", 10, "vocab_size", 2),
          "byNumber",
          "name");
      g.add(
          "c", op, Map.of("key_index", -2, "value_index", -1, "vocab_size", 4), "tooLong", "name");
      g.add(
          "d",
          op,
          Map.of("key_index", 0, "value_index", 2, "delimiter", " "),
          "fewColumns",
          "name");
      g.add("e", op, columns, "missing", "nowhere");
      g.add("findA", "LookupTableFind" + v, Map.of(), "byColumn", "wanted", "none");
      g.add("findB", "LookupTableFind" + v, Map.of(), "byNumber", "whole", "none");
      s.run("write").run("a").run("b").fetch("findA", "findB");
      s.fails(Code.INVALID_ARGUMENT, "c").fails(Code.INVALID_ARGUMENT, "d");
      s.fails(Code.NOT_FOUND, "e");
    }
  }

  /** What is exported has every key in the place that its hash has given it. */
  private void dense(Tensor keys, DType type) {
    Scenario s = scenario("MutableDenseHashTableV2 of " + type);
    GraphWriter g = s.graph();
    g.constant("empty", type == DType.STRING ? Tensor.scalar("no") : scalar(type, -1));
    g.constant("deleted", type == DType.STRING ? Tensor.scalar("gone") : scalar(type, -2));
    Map<String, Object> attributes =
        Map.of("key_dtype", type, "value_dtype", DType.INT64, "initial_num_buckets", 8);
    g.add("t", "MutableDenseHashTableV2", attributes, "empty", "deleted");
    g.add("copy", "MutableDenseHashTableV2", attributes, "empty", "deleted");
    g.constant("keys", keys);
    g.constant("values", longs(1, 2, 3, 4, 5, 6));
    g.constant("one", Tensor.scalar(7L));
    g.constant("first", first(keys));
    g.add("insert", "LookupTableInsertV2", Map.of(), "t", "keys", "values");
    g.add("remove", "LookupTableRemoveV2", Map.of(), "t", "first");
    g.add("find", "LookupTableFindV2", Map.of(), "t", "keys", "one");
    g.add("reserved", "LookupTableFindV2", Map.of(), "t", "empty", "one");
    g.add("size", "LookupTableSizeV2", Map.of(), "t");
    Map<String, DType> exported = Map.of("Tkeys", type, "Tvalues", DType.INT64);
    g.add("export", "LookupTableExportV2", exported, "t");
    g.add("import", "LookupTableImportV2", Map.of(), "copy", "export:0", "export:1");
    g.add("findCopy", "LookupTableFindV2", Map.of(), "copy", "keys", "one");
    g.add("exportCopy", "LookupTableExportV2", exported, "copy");
    s.fetch("find", "size").run("insert").fetch("find", "size").fetch("export:0", "export:1");
    s.fails(Code.INVALID_ARGUMENT, "reserved");
    s.run("remove").fetch("find", "size").fetch("export:0", "export:1");
    s.run("insert").fetch("find", "size").fetch("export:0", "export:1");
    s.run("import").fetch("findCopy").fetch("exportCopy:0", "exportCopy:1");
  }

  private static Tensor first(Tensor keys) {
    return keys.dtype() == DType.STRING
        ? Tensor.vector(keys.stringAt(0))
        : Values.filled(keys.dtype(), keys.doubleAt(0), 1);
  }
}
