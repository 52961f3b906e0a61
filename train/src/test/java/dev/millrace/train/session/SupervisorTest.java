package dev.millrace.train.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.runtime.LocalSession;
import dev.millrace.train.checkpoint.CheckpointFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SupervisorTest {
  @TempDir Path folder;

  private TrainingSettings saving() {
    return TrainingSettings.DEFAULT.withFolder(folder).withMaxWait(Duration.ofSeconds(20));
  }

  @Test
  void trainingGoesOnWhereTheLastSessionEnded() throws IOException {
    Path cutOff = Files.createFile(folder.resolve("model.ckpt-9.index.tempstate12ab"));
    for (int part = 1; part <= 2; part++) {
      LineModel m = new LineModel();
      Supervisor supervisor = new Supervisor(m.scope, saving());
      supervisor.managedSession(
          LocalSession::new,
          s -> {
            for (int i = 0; i < 3 && !supervisor.shouldStop(); i++) {
              s.run(m.batch(1, 2), m.train);
            }
          });
      assertTrue(supervisor.shouldStop());
      assertEquals(
          folder.resolve("model.ckpt-" + 3 * part), CheckpointFolder.latest(folder).orElseThrow());
    }
    assertFalse(Files.exists(cutOff), "the rest of a save that was cut off");
  }

  @Test
  void failureIsThrownAndNotSaved() {
    LineModel m = new LineModel();
    Supervisor supervisor = new Supervisor(m.scope, saving());
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () ->
                supervisor.managedSession(
                    LocalSession::new,
                    s -> {
                      s.run(m.batch(1, 2), m.train);
                      throw new MillraceException(Code.INVALID_ARGUMENT, "no such file");
                    }));
    assertEquals("no such file", e.getMessage());
    assertEquals(folder.resolve("model.ckpt-0"), CheckpointFolder.latest(folder).orElseThrow());
  }
}
