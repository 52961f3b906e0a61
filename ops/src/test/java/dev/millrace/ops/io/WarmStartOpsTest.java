package dev.millrace.ops.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.ops.TinySession;
import dev.millrace.storage.checkpoint.BundleWriter;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WarmStartOpsTest {
  @TempDir Path dir;
  @AutoClose private final TinySession session = new TinySession();

  private Output string(String s) {
    return session.constant(Tensor.scalar(s));
  }

  private Output file(String name, String contents) throws IOException {
    return string(Files.writeString(dir.resolve(name), contents).toString());
  }

  private Node remapping(Output newFile, Output oldFile, long offset, long count, long oldSize) {
    return session
        .scope()
        .node(VocabRemapping.OP)
        .input(newFile)
        .input(oldFile)
        .attr("new_vocab_offset", offset)
        .attr("num_new_vocab", count)
        .attr("old_vocab_size", oldSize)
        .add();
  }

  @Test
  void aVocabularyIsMappedToTheOldLineNumbers() throws IOException {
    Output old = file("old", "knitting\neminem\nMISSING\n");
    Output now = file("new", "MISSING\nknitting\nflask\neminem\n");
    Node all = remapping(now, old, 0, 4, -1);
    assertArrayEquals(new long[] {2, 0, -1, 1}, session.fetch(all.output(0)).toLongs());
    assertEquals(3, session.fetch(all.output(1)).intValue());
    Node part = remapping(now, old, 1, 2, -1);
    assertArrayEquals(new long[] {0, -1}, session.fetch(part.output(0)).toLongs());
    Node shortened = remapping(now, old, 0, 4, 2);
    assertArrayEquals(new long[] {-1, 0, -1, 1}, session.fetch(shortened.output(0)).toLongs());
    Node tooLong = remapping(now, old, 2, 3, -1);
    MillraceException e =
        assertThrows(MillraceException.class, () -> session.fetch(tooLong.output(0)));
    assertEquals(Code.INVALID_ARGUMENT, e.code());
    Node twice = remapping(now, file("twice", "a\nb\na\n"), 0, 1, -1);
    e = assertThrows(MillraceException.class, () -> session.fetch(twice.output(0)));
    assertEquals(Code.INVALID_ARGUMENT, e.code());
  }

  private Output matrix(List<Tensor> remappings, float[] values, int rows, int columns, int max) {
    return session
        .scope()
        .node(RemappedMatrix.OP)
        .input(string(dir.resolve("model").toString()))
        .input(string("w"))
        .input(session.constant(remappings.get(0)))
        .input(session.constant(remappings.get(1)))
        .input(session.constant(Tensor.vector(values)))
        .attr("num_rows", rows)
        .attr("num_cols", columns)
        .attr("max_rows_in_memory", max)
        .add()
        .output();
  }

  private void saveMatrix() {
    try (BundleWriter writer = new BundleWriter(dir.resolve("model"))) {
      writer.add("w", Tensor.of(Shape.of(3, 2), 0f, 1f, 2f, 3f, 4f, 5f));
      writer.finish();
    }
  }

  @Test
  void rowsAndColumnsOfAMatrixAreTakenInTheirNewOrder() {
    saveMatrix();
    Tensor none = Tensor.vector(new long[0]);
    for (int max : new int[] {-1, 1, 2, 10}) {
      Output rows = matrix(List.of(Tensor.vector(2L, 0L, 1L), none), new float[0], 3, 2, max);
      assertArrayEquals(new float[] {4, 5, 0, 1, 2, 3}, session.fetch(rows).toFloats());
      Output both =
          matrix(
              List.of(Tensor.vector(2L, -1L, 0L), Tensor.vector(1L, -1L)),
              new float[] {7, 8, 9, 10},
              3,
              2,
              max);
      assertArrayEquals(new float[] {5, 7, 8, 9, 1, 10}, session.fetch(both).toFloats());
    }
  }

  @Test
  void badRemappingsAreRefused() {
    saveMatrix();
    Tensor none = Tensor.vector(new long[0]);
    assertFails(
        Code.UNIMPLEMENTED, matrix(List.of(Tensor.vector(1L, 1L), none), new float[0], 2, 2, -1));
    assertFails(
        Code.INVALID_ARGUMENT,
        matrix(List.of(Tensor.vector(1L, 3L), none), new float[0], 2, 2, -1));
    assertFails(
        Code.INVALID_ARGUMENT,
        matrix(List.of(Tensor.vector(1L, -1L), none), new float[] {1}, 2, 2, -1));
  }

  private void assertFails(Code code, Output output) {
    MillraceException e = assertThrows(MillraceException.class, () -> session.fetch(output));
    assertEquals(code, e.code());
  }

  @Test
  void aPatternMatchesInEveryPartOfAPath() throws IOException {
    for (String name : List.of("a1/x.txt", "a2/x.txt", "a2/y.csv", "b/x.txt", "{c}")) {
      Files.createDirectories(dir.resolve(name).getParent());
      Files.writeString(dir.resolve(name), "");
    }
    assertMatches("a*/*.txt", "a1/x.txt", "a2/x.txt");
    assertMatches("a[2-9]/?.*", "a2/x.txt", "a2/y.csv");
    assertMatches("**", "a1", "a2", "b", "{c}");
    assertMatches("{*}", "{c}");
    assertMatches("b/x.txt", "b/x.txt");
    assertMatches("b/y.txt");
    assertMatches("none/*");
  }

  private void assertMatches(String pattern, String... expected) {
    Output found =
        session
            .scope()
            .add(FilePattern.MATCHING_FILES, string(dir.resolve(pattern).toString()))
            .output();
    assertEquals(
        List.of(expected),
        List.of(session.fetch(found).toStrings()).stream()
            .map(name -> dir.relativize(Path.of(name)).toString())
            .toList());
  }
}
