package dev.millrace.ops.io;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.context.Context;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which files graphs may use on a task that limits them. */
class FileRootsTest {
  @TempDir Path temp;
  private Path models;
  private Path secrets;

  @BeforeEach
  void folders() throws Exception {
    models = Files.createDirectories(temp.resolve("models"));
    secrets = Files.createDirectories(temp.resolve("secrets"));
    Files.writeString(secrets.resolve("key"), "secret");
  }

  private void within(String roots, Runnable body) {
    Config c = Config.defaults();
    try (Context context =
        Context.of("files", roots == null ? c : c.with(ClusterSettings.FILES, roots))) {
      context.run(body);
    }
  }

  private void refused(Path file) {
    within(
        models.toString(),
        () -> {
          MillraceException e =
              assertThrows(MillraceException.class, () -> FileNames.path(file.toString()));
          assertEquals(Code.PERMISSION_DENIED, e.code());
          assertTrue(e.getMessage().contains("--files"), e.getMessage());
        });
  }

  private void permitted(Path file) {
    within(models.toString(), () -> assertEquals(file, FileNames.path(file.toString())));
  }

  @Test
  void whatIsBelowAFolderMayBeUsed() throws Exception {
    permitted(models);
    permitted(models.resolve("model.ckpt-1.index"));
    permitted(models.resolve("new/deep/model.ckpt"));
    permitted(models.resolve("a/../model.ckpt").normalize());
    within(
        secrets + File.pathSeparator + models,
        () -> assertEquals(models, FileNames.path("file://" + models)));
  }

  @Test
  void allElseMayNot() {
    refused(secrets.resolve("key"));
    refused(temp);
    refused(Path.of("/"));
    refused(Path.of("/etc/passwd"));
    refused(temp.resolve("models2/model.ckpt"));
    refused(models.resolve("../secrets/key"));
    refused(models.resolve("none/../../secrets/key"));
  }

  @Test
  void linksCountAsWhatTheyLeadTo() throws Exception {
    refused(Files.createSymbolicLink(models.resolve("out"), secrets).resolve("key"));
    refused(Files.createSymbolicLink(models.resolve("key"), secrets.resolve("key")));
    refused(Files.createSymbolicLink(models.resolve("new"), secrets.resolve("made-later")));
    Path in = Files.createSymbolicLink(secrets.resolve("in"), models);
    permitted(in.resolve("model.ckpt"));
  }

  @Test
  void hiddenFilesMayNot() throws Exception {
    Files.createDirectories(models.resolve(".ssh"));
    refused(models.resolve(".ssh/authorized_keys"));
    refused(models.resolve(".bashrc"));
  }

  @Test
  void withoutALimitEveryFileMay() {
    within(null, () -> assertFalse(FileNames.path("/etc/passwd").toString().isEmpty()));
  }
}
