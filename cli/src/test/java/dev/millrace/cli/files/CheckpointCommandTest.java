package dev.millrace.cli.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.cli.Ran;
import dev.millrace.proto.CheckpointState;
import dev.millrace.storage.checkpoint.BundleWriter;
import dev.millrace.storage.checkpoint.CheckpointStateFile;
import dev.millrace.storage.checkpoint.ShapeAndSlice;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CheckpointCommandTest {
  @TempDir Path dir;
  private Path prefix;

  @BeforeEach
  void save() {
    prefix = dir.resolve("model.ckpt-30");
    try (BundleWriter w = new BundleWriter(prefix)) {
      w.add("bias", Tensor.vector(1f, 2f, 6f));
      w.add("global_step", Tensor.scalar(30L));
      w.add(
          "table",
          ShapeAndSlice.parse("4 2 0,2:-").orElseThrow(),
          Tensor.of(Shape.of(2, 2), 1f, 2f, 3f, 4f));
      w.add(
          "table",
          ShapeAndSlice.parse("4 2 2,2:-").orElseThrow(),
          Tensor.of(Shape.of(2, 2), 5f, 6f, 7f, 8f));
      w.finish();
    }
    CheckpointStateFile.write(
        dir, CheckpointState.newBuilder().setModelCheckpointPath(prefix.toString()).build());
  }

  @Test
  void lsNamesStepAndLatest() {
    String out = Ran.millrace("checkpoint", "ls", dir.toString()).succeeded();
    String row = out.lines().skip(1).findFirst().orElseThrow();
    assertTrue(row.matches(" *30  model.ckpt-30 +3 .*latest"), out);
  }

  @Test
  void showListsTensorsWithShapesAndParts() {
    String out = Ran.millrace("checkpoint", "show", dir.toString()).succeeded();
    assertTrue(out.contains(prefix.toString()), out);
    assertTrue(out.lines().anyMatch(l -> l.matches("bias +float +\\[3\\] +1 +12 B")), out);
    assertTrue(out.lines().anyMatch(l -> l.matches("table +float +\\[4,2\\] +2 +32 B")), out);
    assertTrue(out.contains("3 tensors, 12 elements"), out);
  }

  @Test
  void showOfOneTensorSaysWhatIsInIt() {
    String out = Ran.millrace("checkpoint", "show", prefix + ".index", "bias").succeeded();
    assertTrue(out.contains("min 1  max 6  mean 3"), out);
    Ran.millrace("checkpoint", "show", prefix.toString(), "bais").wasRefusedFor("bais");
  }

  @Test
  void jsonIsForPrograms() {
    String out = Ran.millrace("checkpoint", "show", dir.toString(), "--json").succeeded();
    assertTrue(out.contains("\"name\": \"global_step\""), out);
    assertTrue(out.contains("\"parts\": 2"), out);
  }

  @Test
  void verifyFindsADamagedByte() throws IOException {
    assertTrue(
        Ran.millrace("checkpoint", "verify", dir.toString()).succeeded().contains("is whole"));
    Path data = dir.resolve("model.ckpt-30.data-00000-of-00001");
    byte[] bytes = Files.readAllBytes(data);
    bytes[bytes.length - 1] ^= 1;
    Files.write(data, bytes);
    Ran r = Ran.millrace("checkpoint", "verify", dir.toString());
    assertEquals(1, r.code());
    assertTrue(r.out().contains("is damaged: 1 of 3 tensors"), r.out());
    Files.write(dir.resolve("model.ckpt-30.index"), new byte[0]);
    r = Ran.millrace("checkpoint", "verify", dir.toString());
    assertTrue(r.out().contains("is damaged: its index."), r.out());
    assertTrue(Ran.millrace("checkpoint", "ls", dir.toString()).succeeded().contains("damaged"));
  }

  @Test
  void verifyLooksAtAllCheckpointsOfAFolder() throws IOException {
    Path older = dir.resolve("model.ckpt-10");
    try (BundleWriter w = new BundleWriter(older)) {
      w.add("bias", Tensor.vector(1f, 2f, 6f));
      w.finish();
    }
    String out = Ran.millrace("checkpoint", "verify", dir.toString()).succeeded();
    assertTrue(out.contains(older + " is whole: 1 ") && out.contains(prefix + " is whole"), out);
    Files.write(dir.resolve("model.ckpt-10.index"), new byte[0]);
    Ran r = Ran.millrace("checkpoint", "verify", dir.toString());
    assertEquals(1, r.code());
    assertTrue(r.out().contains(older + " is damaged: its index."), r.out());
    assertTrue(r.out().contains(prefix + " is whole"), r.out());
    Ran.millrace("checkpoint", "verify", prefix.toString()).succeeded();
  }

  @Test
  void whatIsNotThereIsNamed() {
    Path none = dir.resolve("none");
    Ran.millrace("checkpoint", "ls", none.toString()).wasRefusedFor(none.toString());
    Ran.millrace("checkpoint", "show", none.toString()).wasRefusedFor(none.toString());
    Ran.millrace("checkpoint", "verify", none.toString()).wasRefusedFor(none.toString());
    Ran.millrace("checkpoint", "show").wasRefusedFor("CHECKPOINT");
  }

  @ParameterizedTest
  @ValueSource(strings = {".npz", ".safetensors"})
  void exportAndImportConvertThereAndBack(String ending) {
    String file = dir.resolve("weights" + ending).toString();
    assertEquals(
        file + ": 3 tensors\n",
        Ran.millrace("checkpoint", "export", dir.toString(), file).succeeded());
    Path other = dir.resolve("other");
    Ran.millrace("checkpoint", "import", file, other.resolve("model.ckpt-0").toString())
        .succeeded();
    String out = Ran.millrace("checkpoint", "show", other.toString(), "table").succeeded();
    assertTrue(out.contains("[4,2]"), out);
    assertTrue(
        Ran.millrace("checkpoint", "ls", other.toString()).succeeded().contains("latest"), out);
    String some =
        Ran.millrace("checkpoint", "export", dir.toString(), file, "--only", "b.*", "--json")
            .succeeded();
    assertTrue(some.contains("\"bias\"") && !some.contains("table"), some);
    Ran folder = Ran.millrace("checkpoint", "import", file, dir.toString());
    assertTrue(folder.err().contains("name the checkpoint in it"), folder.err());
  }
}
