package dev.millrace.train.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.SessionOptions;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Saving to a disk of half a megabyte, where the system lets the test have one. */
class FullDiskTest {
  @TempDir Path folder;

  @BeforeEach
  void mount() throws IOException, InterruptedException {
    assumeTrue(
        runs("mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", folder.toString()),
        "only root may mount a small disk");
  }

  @AfterEach
  void unmount() throws IOException, InterruptedException {
    runs("umount", folder.toString());
  }

  private static boolean runs(String... command) throws IOException, InterruptedException {
    try {
      Process p = new ProcessBuilder(command).redirectErrorStream(true).start();
      return p.waitFor(20, TimeUnit.SECONDS) && p.exitValue() == 0;
    } catch (IOException e) {
      return false;
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void saveThatDoesNotFitLeavesTheOneBefore(boolean sharded) throws IOException {
    Scope scope = Scope.of(new Graph(StandardOps.registry()));
    VariableScope here = VariableScope.of(scope.withDevice("/job:localhost/task:0/cpu:0"));
    VariableScope there = VariableScope.of(scope.withDevice("/job:localhost/task:0/cpu:1"));
    GraphVariable v = here.variable("v", Shape.of(40_000), Initializers.constant(7));
    there.variable("small", Shape.of(10_000), Initializers.zeros());
    Saver saver = Saver.of(scope, SaverOptions.DEFAULT.withMetaGraph(false).withSharded(sharded));
    try (Session session =
        new LocalSession(scope.graph(), new SessionOptions(2, true, null, true))) {
      session.run(Variables.initializer(scope));
      Path prefix = folder.resolve("model.ckpt");
      saver.save(session, prefix, 1L);
      saver.save(session, prefix, 2L);
      MillraceException e =
          assertThrows(MillraceException.class, () -> saver.save(session, prefix, 3L));
      assertEquals(Code.RESOURCE_EXHAUSTED, e.code(), e.getMessage());
      assertTrue(e.getMessage().contains(prefix + "-3"), e.getMessage());
      assertEquals(
          folder.resolve("model.ckpt-2"), saver.restoreLatest(session, folder).orElseThrow());
      try (Tensor t = session.fetch(v.read())) {
        assertEquals(7, t.doubleAt(39_999));
      }
    }
    try (Stream<Path> files = Files.list(folder)) {
      assertTrue(
          files.noneMatch(f -> f.getFileName().toString().matches(".*ckpt-3.*|.*temp.*")),
          "something was left of the save that failed");
    }
  }
}
