package dev.millrace.train.checkpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.RunOptions;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.SessionOptions;
import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.storage.checkpoint.CheckpointStateFile;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SaverTest {
  @TempDir Path folder;

  /** Two variables, one of each kind, a saver over both and a session. */
  private static final class Model implements AutoCloseable {
    final Graph graph = new Graph(StandardOps.registry());
    final Scope scope = Scope.of(graph);
    final GraphVariable a;
    final GraphVariable b;
    final Saver saver;
    final LocalSession session;

    Model(SaverOptions options, int size) {
      VariableScope v = VariableScope.of(scope);
      boolean spread = options.sharded();
      a =
          VariableScope.of(spread ? scope.withDevice("/job:localhost/task:0/cpu:0") : scope)
              .variable("a", Shape.of(size), Initializers.constant(1));
      b =
          (spread ? VariableScope.of(scope.withDevice("/job:localhost/task:0/cpu:1")) : v)
              .withResources(true)
              .variable("b", Shape.of(2), Initializers.constant(2));
      saver = Saver.of(scope, options);
      session =
          new LocalSession(graph, SessionOptions.DEFAULT.withCpuDevices(2).withSoftPlacement(true));
      session.run(Variables.initializer(scope));
    }

    Model() {
      this(SaverOptions.DEFAULT, 3);
    }

    void set(float value) {
      session.run(a.assign(scope, Const.of(scope, Tensor.vector(value, value, value))));
    }

    float[] values() {
      return session.fetch(a.read()).toFloats();
    }

    @Override
    public void close() {
      session.close();
    }
  }

  private List<String> files() throws IOException {
    try (Stream<Path> list = Files.list(folder)) {
      return list.map(p -> p.getFileName().toString()).sorted().toList();
    }
  }

  @Test
  void restoringBringsBackWhatWasSaved() {
    try (Model m = new Model()) {
      m.set(5);
      Path saved = m.saver.save(m.session, folder.resolve("model.ckpt"), 7L);
      assertEquals(folder.resolve("model.ckpt-7"), saved);
      m.set(6);
      m.saver.restore(m.session, saved);
      assertArrayEquals(new float[] {5, 5, 5}, m.values());
    }
    try (Model fresh = new Model()) {
      assertEquals(
          folder.resolve("model.ckpt-7"),
          fresh.saver.restoreLatest(fresh.session, folder).orElseThrow());
      assertArrayEquals(new float[] {5, 5, 5}, fresh.values());
    }
  }

  @Test
  void shardsOfSeveralDevicesBecomeOneCheckpoint() throws IOException {
    try (Model m = new Model(SaverOptions.DEFAULT.withSharded(true), 3)) {
      m.set(4);
      Path saved = m.saver.save(m.session, folder.resolve("model.ckpt"), 1L);
      m.set(0);
      m.saver.restore(m.session, saved);
      assertArrayEquals(new float[] {4, 4, 4}, m.values());
    }
    assertEquals(
        List.of(
            "checkpoint",
            "model.ckpt-1.data-00000-of-00002",
            "model.ckpt-1.data-00001-of-00002",
            "model.ckpt-1.index",
            "model.ckpt-1.meta"),
        files());
  }

  @Test
  void onlyTheLatestAreKeptAndTheStateFileNamesThem() throws IOException {
    SaverOptions options = SaverOptions.DEFAULT.withMaxToKeep(2).withMetaGraph(false);
    try (Model m = new Model(options, 3)) {
      for (long step = 1; step <= 4; step++) {
        m.saver.save(m.session, folder.resolve("m"), step);
      }
    }
    assertEquals(
        List.of(
            "checkpoint",
            "m-3.data-00000-of-00001",
            "m-3.index",
            "m-4.data-00000-of-00001",
            "m-4.index"),
        files());
    assertEquals(
        List.of(folder.resolve("m-3").toString(), folder.resolve("m-4").toString()),
        CheckpointStateFile.read(folder).orElseThrow().getAllModelCheckpointPathsList());
    // A later run takes the old ones over and removes them in turn.
    try (Model m = new Model(options, 3)) {
      m.saver.save(m.session, folder.resolve("m"), 5L);
      assertEquals(
          List.of(folder.resolve("m-4"), folder.resolve("m-5")), m.saver.lastCheckpoints());
    }
    assertFalse(CheckpointFolder.isComplete(folder.resolve("m-3")));
  }

  @Test
  void oneOfEachSpanIsKeptForGood() {
    SaverOptions options =
        SaverOptions.DEFAULT.withMaxToKeep(1).withKeepOneEvery(Duration.ofSeconds(10));
    Retention retention = new Retention(options);
    try (Model m = new Model(options.withMetaGraph(false), 3)) {
      retention.recover(folder, 100);
      for (int i = 0; i < 6; i++) {
        Path p = folder.resolve("m-" + i);
        m.saver.export(m.session, p);
        retention.saved(p, 100 + 5 * i);
      }
    }
    // The spans end at 110 and 120: the first one removed after each stays.
    List<Integer> left =
        Stream.of(0, 1, 2, 3, 4, 5)
            .filter(i -> CheckpointFolder.isComplete(folder.resolve("m-" + i)))
            .toList();
    assertEquals(List.of(3, 5), left);
    // A job that is started again goes on with the span it was in.
    Retention again = new Retention(options);
    again.recover(folder, 126);
    try (Model m = new Model(options.withMetaGraph(false), 3)) {
      for (int i = 6; i < 9; i++) {
        Path p = folder.resolve("m-" + i);
        m.saver.export(m.session, p);
        again.saved(p, 100 + 5 * i);
      }
    }
    assertTrue(CheckpointFolder.isComplete(folder.resolve("m-5")), "saved after the span's end");
    assertFalse(CheckpointFolder.isComplete(folder.resolve("m-6")));
  }

  @Test
  void someVariablesCanBeRestoredUnderOtherNames() {
    try (Model m = new Model()) {
      m.set(9);
      m.saver.save(m.session, folder.resolve("m"), null);
    }
    try (Model other = new Model()) {
      Saver renamed = Saver.of(other.scope, Map.of("a", other.a), SaverOptions.DEFAULT);
      renamed.restore(other.session, folder.resolve("m"));
      assertArrayEquals(new float[] {9, 9, 9}, other.values());
      assertArrayEquals(new float[] {2, 2}, other.session.fetch(other.b.read()).toFloats());
    }
  }

  // README claim: save-previous
  @Test
  void damagedCheckpointIsPassedOverForTheOneBefore() throws IOException {
    try (Model m = new Model()) {
      m.set(1);
      m.saver.save(m.session, folder.resolve("m"), 1L);
      m.set(2);
      m.saver.save(m.session, folder.resolve("m"), 2L);
      flip(folder.resolve("m-2.data-00000-of-00001"));
      assertEquals(folder.resolve("m-1"), m.saver.restoreLatest(m.session, folder).orElseThrow());
      assertArrayEquals(new float[] {1, 1, 1}, m.values());
      flip(folder.resolve("m-1.data-00000-of-00001"));
      MillraceException e =
          assertThrows(MillraceException.class, () -> m.saver.restoreLatest(m.session, folder));
      assertEquals(Code.DATA_LOSS, e.code());
      assertTrue(e.getMessage().startsWith("All 2 checkpoints in " + folder), e.getMessage());
    }
  }

  @Test
  void damagedStateFileIsReplacedByTheNextSave() throws IOException {
    Path state = folder.resolve("checkpoint");
    try (Model m = new Model()) {
      m.set(1);
      m.saver.save(m.session, folder.resolve("m"), 1L);
    }
    Files.writeString(state, "model_checkpoint_path: \"m-");
    try (Model m = new Model()) {
      assertEquals(folder.resolve("m-1"), m.saver.restoreLatest(m.session, folder).orElseThrow());
      m.saver.save(m.session, folder.resolve("m"), 2L);
      assertEquals(folder.resolve("m-2"), CheckpointFolder.latest(folder).orElseThrow());
    }
  }

  // README claim: save-checked
  @Test
  void checkpointThatDoesNotReadBackIsNotNamed() throws IOException {
    try (Model m = new Model()) {
      m.saver.save(m.session, folder.resolve("m"), 1L);
      Session onBadDisk =
          new Session() {
            @Override
            public List<Tensor> run(
                Map<Output, Tensor> feeds,
                List<Output> fetches,
                List<Node> targets,
                RunOptions options) {
              List<Tensor> fetched = m.session.run(feeds, fetches, targets, options);
              flip(folder.resolve("m-2.data-00000-of-00001"));
              return fetched;
            }

            @Override
            public Callable makeCallable(
                List<Output> feeds, List<Output> fetches, List<Node> targets) {
              return m.session.makeCallable(feeds, fetches, targets);
            }

            @Override
            public void close() {}
          };
      MillraceException e =
          assertThrows(
              MillraceException.class, () -> m.saver.save(onBadDisk, folder.resolve("m"), 2L));
      assertEquals(Code.DATA_LOSS, e.code());
      assertTrue(e.getMessage().contains("m-2 was saved but cannot be read back"), e.getMessage());
      assertEquals(List.of(folder.resolve("m-1")), CheckpointFolder.newestFirst(folder));
      assertTrue(files().stream().noneMatch(f -> f.startsWith("m-2")), files().toString());
    }
  }

  private static void flip(Path file) {
    try (RandomAccessFile f = new RandomAccessFile(file.toFile(), "rw")) {
      int b = f.read();
      f.seek(0);
      f.write(b ^ 1);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void checkpointOfAnotherModelIsRefusedWithEveryDifference() {
    try (Model m = new Model()) {
      m.saver.save(m.session, folder.resolve("m"), 1L);
    }
    try (Model larger = new Model(SaverOptions.DEFAULT, 8)) {
      MillraceException e =
          assertThrows(
              MillraceException.class, () -> larger.saver.restoreLatest(larger.session, folder));
      assertEquals(Code.INVALID_ARGUMENT, e.code());
      assertTrue(
          e.getMessage()
              .contains("of 2 variables 1 do not fit: 'a' is float[3], needed as float[8]"),
          e.getMessage());
      Saver more = Saver.of(larger.scope, Map.of("c", larger.a), SaverOptions.DEFAULT);
      e = assertThrows(MillraceException.class, () -> more.restoreLatest(larger.session, folder));
      assertTrue(e.getMessage().contains("'c' is missing"), e.getMessage());
      assertEquals(1, larger.values()[0]);
    }
  }

  @Test
  void folderThatIsAFileIsRefused() throws IOException {
    Path file = Files.createFile(folder.resolve("file"));
    try (Model m = new Model()) {
      MillraceException e =
          assertThrows(
              MillraceException.class, () -> m.saver.save(m.session, file.resolve("m"), 1L));
      assertEquals(Code.PERMISSION_DENIED, e.code());
      assertTrue(e.getMessage().contains(file + " is a file"), e.getMessage());
    }
  }

  // README claim: save-whole
  @Test
  void leftOversOfCutOffSavesAreRemoved() throws IOException {
    Files.createFile(folder.resolve("m-3.index.tempstate12ab"));
    Path shards =
        Files.createDirectory(folder.resolve("m-3_temp_0123456789abcdef0123456789abcdef"));
    Files.createFile(shards.resolve("part-00000-of-00002.index"));
    Files.createFile(folder.resolve("notes.txt"));
    CheckpointFolder.removeLeftOvers(folder);
    assertEquals(List.of("notes.txt"), files());
  }

  @Test
  void checkpointHoldsTheVariablesUnderTheirNames() {
    try (Model m = new Model()) {
      m.saver.export(m.session, folder.resolve("m"));
    }
    try (BundleReader reader = new BundleReader(folder.resolve("m"))) {
      assertEquals(List.of("a", "b"), reader.names());
    }
    assertTrue(CheckpointStateFile.read(folder).isEmpty());
  }
}
