package dev.millrace.storage.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.CheckpointState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CheckpointStateFileTest {
  @TempDir Path dir;

  private CheckpointState state(String... prefixes) {
    CheckpointState.Builder state = CheckpointState.newBuilder();
    for (int i = 0; i < prefixes.length; i++) {
      state.addAllModelCheckpointPaths(prefixes[i]).addAllModelCheckpointTimestamps(1.7e9 + i);
      state.setModelCheckpointPath(prefixes[i]);
    }
    return state.build();
  }

  @Test
  void whatIsWrittenIsRead() {
    CheckpointState state =
        state(dir + "/model.ckpt-0", dir + "/odd \"name\"\n\u00e9", "/elsewhere/model.ckpt-7");
    CheckpointStateFile.write(dir, state);
    assertEquals(Optional.of(state), CheckpointStateFile.read(dir));
    assertEquals(Optional.of(Path.of("/elsewhere/model.ckpt-7")), CheckpointStateFile.latest(dir));
  }

  @Test
  void theTextIsTensorFlows() throws IOException {
    CheckpointStateFile.write(
        dir,
        CheckpointState.newBuilder()
            .setModelCheckpointPath(dir + "/model.ckpt-3")
            .addAllModelCheckpointPaths(dir + "/model.ckpt-0")
            .addAllModelCheckpointPaths(dir + "/model.ckpt-3")
            .build());
    assertEquals(
        """
        model_checkpoint_path: "model.ckpt-3"
        all_model_checkpoint_paths: "model.ckpt-0"
        all_model_checkpoint_paths: "model.ckpt-3"
        """,
        Files.readString(dir.resolve("checkpoint")));
  }

  @Test
  void relativePathsMoveWithTheirDirectory() throws IOException {
    Path before = Files.createDirectory(dir.resolve("before"));
    CheckpointStateFile.write(before, state(before + "/m-1"));
    Path after = Files.move(before, dir.resolve("after"));
    assertEquals(Optional.of(after.resolve("m-1")), CheckpointStateFile.latest(after));
  }

  @Test
  void withoutAFileThereIsNothing() {
    assertTrue(CheckpointStateFile.read(dir).isEmpty());
    assertTrue(CheckpointStateFile.latest(dir.resolve("missing")).isEmpty());
  }

  @Test
  void fieldsOfTheFutureAreSkipped() throws IOException {
    Files.writeString(
        dir.resolve("checkpoint"), "model_checkpoint_path: \"m\"\nnot_known_yet: 3\n");
    assertEquals(Optional.of(dir.resolve("m")), CheckpointStateFile.latest(dir));
  }

  @Test
  void anythingElseIsDataLoss() throws IOException {
    for (String text : new String[] {"{{{", "model_checkpoint_path: 3", "\0\1\2"}) {
      Files.writeString(dir.resolve("checkpoint"), "model_checkpoint_path: \"x\"\n" + text);
      MillraceException e =
          assertThrows(MillraceException.class, () -> CheckpointStateFile.read(dir), text);
      assertEquals(Code.DATA_LOSS, e.code());
      assertTrue(e.getMessage().contains("checkpoint"), e.getMessage());
    }
    Files.writeString(dir.resolve("checkpoint"), "model_checkpoint_path: \"a\\000b\"");
    assertEquals(
        Code.DATA_LOSS,
        assertThrows(MillraceException.class, () -> CheckpointStateFile.read(dir)).code());
  }
}
