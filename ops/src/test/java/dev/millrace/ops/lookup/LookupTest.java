package dev.millrace.ops.lookup;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.NodeBuilder;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.TinySession;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LookupTest {
  @AutoClose private final TinySession session = new TinySession();
  private final Scope scope = session.scope();

  private Output table(String op, DType key, String shared, Tensor... inputs) {
    return add(
            op,
            Map.of("key_dtype", key, "value_dtype", DType.INT64, "shared_name", shared),
            null,
            inputs)
        .output(0);
  }

  private Node add(String op, Map<String, Object> attrs, Output table, Tensor... inputs) {
    NodeBuilder b = scope.node(op);
    if (table != null) {
      b.input(table);
    }
    for (Tensor t : inputs) {
      b.input(session.constant(t));
    }
    attrs.forEach(b::attr);
    return b.add();
  }

  private long[] find(Output table, Tensor keys) {
    Node find = add("LookupTableFindV2", Map.of(), table, keys, Tensor.scalar(-1L));
    return session.fetch(find.output(0)).toLongs();
  }

  private static void assertFails(Code code, org.junit.jupiter.api.function.Executable run) {
    assertEquals(code, assertThrows(MillraceException.class, run).code());
  }

  @Test
  void aStaticTableIsFilledOnceAndSharedByName() {
    Output t = table("HashTableV2", DType.STRING, "words");
    Tensor keys = Tensor.vector("a", "b");
    Node init = add("InitializeTableV2", Map.of(), t, keys, Tensor.vector(1L, 2L));
    assertFails(Code.FAILED_PRECONDITION, () -> find(t, keys));
    session.run(init);
    session.run(init);
    Output same = table("HashTableV2", DType.STRING, "words");
    assertArrayEquals(new long[] {2, -1}, find(same, Tensor.vector("b", "c")));
    Node other = add("InitializeTableV2", Map.of(), t, Tensor.vector("x"), Tensor.vector(1L));
    assertFails(Code.FAILED_PRECONDITION, () -> session.run(other));
    Output ofNumbers = table("HashTableV2", DType.INT64, "words");
    assertFails(Code.INVALID_ARGUMENT, () -> find(ofNumbers, Tensor.vector(1L)));
  }

  @Test
  void entriesComeAndGo() {
    Output t = table("MutableHashTableV2", DType.STRING, "counts");
    Tensor keys = Tensor.vector("a", "b", "c");
    session.run(add("LookupTableInsertV2", Map.of(), t, keys, Tensor.vector(1L, 2L, 3L)));
    session.run(add("LookupTableRemoveV2", Map.of(), t, Tensor.vector("b", "none")));
    assertArrayEquals(new long[] {1, -1, 3}, find(t, keys));
    Node export =
        add("LookupTableExportV2", Map.of("Tkeys", DType.STRING, "Tvalues", DType.INT64), t);
    assertArrayEquals(new String[] {"a", "c"}, session.fetch(export.output(0)).toStrings());
    session.run(add("LookupTableImportV2", Map.of(), t, Tensor.vector("z"), Tensor.vector(26L)));
    assertEquals(1, session.fetch(add("LookupTableSizeV2", Map.of(), t).output(0)).longValue());
  }

  @Test
  void aDenseTableKeepsKeysWhereTensorFlowHasThem() {
    Output t =
        add(
                "MutableDenseHashTableV2",
                Map.of(
                    "key_dtype", DType.INT64,
                    "value_dtype", DType.INT64,
                    "initial_num_buckets", 8),
                null,
                Tensor.scalar(100L),
                Tensor.scalar(200L))
            .output(0);
    Tensor keys = Tensor.vector(11L, 12L, 19L);
    session.run(add("LookupTableInsertV2", Map.of(), t, keys, Tensor.vector(1L, 2L, 3L)));
    session.run(add("LookupTableRemoveV2", Map.of(), t, Tensor.vector(12L)));
    Node export =
        add("LookupTableExportV2", Map.of("Tkeys", DType.INT64, "Tvalues", DType.INT64), t);
    assertArrayEquals(
        new long[] {100, 100, 100, 11, 200, 100, 19, 100},
        session.fetch(export.output(0)).toLongs());
    assertFails(Code.INVALID_ARGUMENT, () -> find(t, Tensor.vector(100L)));
    assertArrayEquals(new long[] {1, -1, 3}, find(t, keys));
  }

  @Test
  void aTableIsReadFromAFile(@TempDir Path folder) throws IOException {
    Path file = Files.writeString(folder.resolve("words"), "one\t1\ntwo\t2\n");
    Output t = table("HashTableV2", DType.STRING, "file");
    Tensor name = Tensor.scalar(file.toString());
    Map<String, Object> columns = Map.of("key_index", 0, "value_index", 1);
    session.run(add("InitializeTableFromTextFileV2", columns, t, name));
    assertArrayEquals(new long[] {2, -1}, find(t, Tensor.vector("two", "three")));
    Node tooLong =
        add(
            "InitializeTableFromTextFileV2",
            Map.of("key_index", -2, "value_index", -1, "vocab_size", 3),
            table("HashTableV2", DType.STRING, "long"),
            name);
    assertFails(Code.INVALID_ARGUMENT, () -> session.run(tooLong));
  }
}
