package dev.millrace.ops.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.TinySession;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CheckpointsTest {
  @TempDir Path dir;
  @AutoClose private final TinySession session = new TinySession();
  private final Scope scope = session.scope();

  private Output strings(String... s) {
    return session.constant(Tensor.vector(s));
  }

  private Output prefix(String name) {
    return session.constant(Tensor.scalar(dir.resolve(name).toString()));
  }

  @Test
  void whatIsSavedIsRestored() {
    Output w = VariableV2.of(scope, DType.FLOAT, Shape.of(2, 2));
    session.run(Assign.of(scope, w, session.constant(Tensor.of(Shape.of(2, 2), 1f, 2f, 3f, 4f))));
    Output step = session.constant(Tensor.scalar(7L));
    Output text = strings("a", "");
    session.run(
        Checkpoints.save(
            scope,
            prefix("model"),
            strings("w", "step", "text"),
            strings("", "", ""),
            List.of(w, step, text)));
    assertTrue(Files.exists(dir.resolve("model.index")));
    assertTrue(Files.exists(dir.resolve("model.data-00000-of-00001")));
    Node restore =
        Checkpoints.restore(
            scope,
            prefix("model"),
            strings("text", "w", "step"),
            strings("", "", ""),
            List.of(DType.STRING, DType.FLOAT, DType.INT64));
    Tensor[] t = session.run(restore.output(0), restore.output(1), restore.output(2));
    assertArrayEquals(new String[] {"a", ""}, t[0].toStrings());
    assertArrayEquals(new float[] {1, 2, 3, 4}, t[1].toFloats());
    assertEquals(Shape.of(2, 2), t[1].shape());
    assertEquals(7, t[2].longValue());
  }

  @Test
  void shardsOfAPartitionedVariableBecomeOneCheckpoint() {
    Output base = prefix("ckpt_temp/part");
    for (int shard = 0; shard < 2; shard++) {
      Output name =
          ShardedNames.of(
              scope,
              base,
              session.constant(Tensor.scalar(shard)),
              session.constant(Tensor.scalar(2)));
      float[] rows = shard == 0 ? new float[] {1, 2, 3, 4} : new float[] {5, 6};
      String slice = shard == 0 ? "3 2 0,2:0,2" : "3 2 2,1:0,2";
      session.run(
          Checkpoints.save(
              scope,
              name,
              strings("p"),
              strings(slice),
              List.of(session.constant(Tensor.of(Shape.of(rows.length / 2, 2), rows)))));
    }
    String part = dir.resolve("ckpt_temp/part").toString();
    session.run(
        Checkpoints.merge(
            scope, strings(part + "-00000-of-00002", part + "-00001-of-00002"), prefix("ckpt")));
    assertFalse(Files.exists(dir.resolve("ckpt_temp")));
    assertTrue(Files.exists(dir.resolve("ckpt.data-00001-of-00002")));
    Node restore =
        Checkpoints.restore(
            scope,
            prefix("ckpt"),
            strings("p", "p"),
            strings("", "3 2 1,2:1,1"),
            List.of(DType.FLOAT, DType.FLOAT));
    assertEquals(Shape.of(2, 1), restore.output(1).shape());
    Tensor[] t = session.run(restore.output(0), restore.output(1));
    assertArrayEquals(new float[] {1, 2, 3, 4, 5, 6}, t[0].toFloats());
    assertArrayEquals(new float[] {4, 6}, t[1].toFloats());
  }

  @Test
  void whatIsMissingOrOfAnotherTypeIsNamed() {
    session.run(
        Checkpoints.save(
            scope,
            prefix("model"),
            strings("w"),
            strings(""),
            List.of(session.constant(Tensor.scalar(1f)))));
    MillraceException missing = fails("model", "v", DType.FLOAT);
    assertEquals(Code.NOT_FOUND, missing.code());
    assertTrue(missing.getMessage().contains("Key v not found in checkpoint"));
    MillraceException type = fails("model", "w", DType.DOUBLE);
    assertEquals(Code.INVALID_ARGUMENT, type.code());
    assertTrue(
        type.getMessage().contains("expected dtype double does not equal original dtype float"));
    assertEquals(Code.NOT_FOUND, fails("other", "w", DType.FLOAT).code());
    MillraceException remote =
        assertThrows(MillraceException.class, () -> FileNames.path("gs://bucket/model"));
    assertEquals(Code.UNIMPLEMENTED, remote.code());
    assertEquals(Path.of("/a/b"), FileNames.path("file:///a/b"));
  }

  @Test
  void aFileHoldsNoCheckpoints() throws IOException {
    Files.writeString(dir.resolve("file"), "no folder");
    for (String below : List.of("file/model", "file/folder/model")) {
      Node save =
          Checkpoints.save(
              scope,
              prefix(below),
              strings("w"),
              strings(""),
              List.of(session.constant(Tensor.scalar(1f))));
      MillraceException e = assertThrows(MillraceException.class, () -> session.run(save));
      assertEquals(Code.FAILED_PRECONDITION, e.code(), e.getMessage());
    }
  }

  private MillraceException fails(String model, String name, DType type) {
    Node n = Checkpoints.restore(scope, prefix(model), strings(name), strings(""), List.of(type));
    return assertThrows(MillraceException.class, () -> session.run(n));
  }

  @Test
  void namesMustMatchTensors() {
    Node n =
        Checkpoints.save(
            scope,
            prefix("model"),
            strings("a", "b"),
            strings("", ""),
            List.of(session.constant(Tensor.scalar(1f))));
    MillraceException e = assertThrows(MillraceException.class, () -> session.run(n));
    assertEquals(Code.INVALID_ARGUMENT, e.code());
    assertFalse(Files.exists(dir.resolve("model.index")));
  }
}
