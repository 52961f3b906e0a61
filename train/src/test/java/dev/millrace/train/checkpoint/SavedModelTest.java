package dev.millrace.train.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.train.session.LineModel;
import dev.millrace.train.variable.Variables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is where after an export; that TensorFlow serves it is shown in the module interop. */
class SavedModelTest {
  @TempDir Path folder;

  private final LineModel model = new LineModel();
  private final SavedModel.Signature signature =
      new SavedModel.Signature(Map.of("x", model.x), Map.of("loss", model.loss));

  private List<String> files() throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(Files::isRegularFile)
          .map(f -> folder.relativize(f).toString())
          .sorted()
          .toList();
    }
  }

  @Test
  void modelTakesItsNameWhenItIsCompleteAndIsNotReplaced() throws IOException {
    Path target = Files.createDirectories(folder.resolve("models").resolve("1"));
    Path killed = Files.createDirectories(folder.resolve("models").resolve("1.tempstate12ab"));
    Files.createFile(killed.resolve("saved_model.pb"));
    try (Session s = new LocalSession(model.graph)) {
      s.run(Variables.initializer(model.scope));
      SavedModel.export(s, model.graph, target, signature);
      List<String> exported =
          List.of(
              "models/1/saved_model.pb",
              "models/1/variables/variables.data-00000-of-00001",
              "models/1/variables/variables.index");
      assertEquals(exported, files());
      MillraceException e =
          assertThrows(
              MillraceException.class, () -> SavedModel.export(s, model.graph, target, signature));
      assertEquals(Code.ALREADY_EXISTS, e.code());
      assertTrue(e.getMessage().startsWith(target + " is not empty"), e.getMessage());
      assertEquals(exported, files());
    }
  }

  @Test
  void exportThatFailsLeavesNothing() throws IOException {
    Path target = folder.resolve("model");
    try (Session s = new LocalSession(model.graph)) {
      // Without values.
      assertThrows(
          MillraceException.class, () -> SavedModel.export(s, model.graph, target, signature));
    }
    assertFalse(Files.exists(target));
    assertEquals(List.of(), files());
  }
}
