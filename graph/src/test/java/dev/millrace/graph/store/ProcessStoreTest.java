package dev.millrace.graph.store;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.resource.Resources;
import dev.millrace.graph.resource.StateId;
import dev.millrace.graph.resource.StepIdentity;
import dev.millrace.graph.resource.Variable;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What a kill leaves is what the files have at that moment, since the page cache outlives the
 * process. So a copy of the folder of a store that is open stands for one that was killed.
 */
class ProcessStoreTest {
  private static final long SEED = Long.getLong("millrace.seed", 20);

  /** Small, so that its files take turns often. */
  private static final long JOURNAL = 256 << 10;

  private static final int SMALL = 4;
  private static final int LARGE = 6000;
  private static final int ROWS = 1000;
  private static final int WIDTH = 8;

  @TempDir Path temp;
  private int copies;

  /** Their variables are closed after the test. */
  private final List<ProcessStore> opened = new ArrayList<>();

  private ProcessStore open(Path folder) {
    ProcessStore store = ProcessStore.open(folder, JOURNAL);
    opened.add(store);
    return store;
  }

  @AfterEach
  void close() {
    opened.forEach(ProcessStoreTest::release);
  }

  private static void release(ProcessStore store) {
    store.close();
    store.kept().values().forEach(Variable::close);
  }

  private Path killed(Path folder) throws IOException {
    Path copy = temp.resolve("killed-" + copies++);
    Files.createDirectories(copy);
    try (var files = Files.list(folder)) {
      for (Path f : files.toList()) {
        Files.copy(f, copy.resolve(f.getFileName()), StandardCopyOption.REPLACE_EXISTING);
      }
    }
    return copy;
  }

  private static StateId id(String name) {
    return new StateId("CPU:0", Resources.DEFAULT_CONTAINER, name);
  }

  private static Variable make(ProcessStore store, String name, long step, float... first) {
    Variable v = store.create(id(name), DType.FLOAT);
    try (Tensor t = Tensor.vector(first)) {
      v.assign(step, t);
    }
    return v;
  }

  private static void add(Variable v, long step, float by) {
    v.update(
        step,
        t -> {
          for (long i = 0; i < t.elements(); i++) {
            t.setDouble(i, t.doubleAt(i) + by);
          }
        });
  }

  private static void addRows(Variable v, long step, float by, int... rows) {
    try (Tensor at = Tensor.vector(rows)) {
      v.update(
          step,
          at,
          t -> {
            for (int r : rows) {
              for (int i = 0; i < WIDTH; i++) {
                long at1 = (long) r * WIDTH + i;
                t.setDouble(at1, t.doubleAt(at1) + by);
              }
            }
          });
    }
  }

  private static float[] value(Variable v) {
    float[][] read = new float[1][];
    v.examine(t -> read[0] = t.toFloats());
    return read[0];
  }

  private static Map<String, float[]> values(ProcessStore store) {
    Map<String, float[]> all = new HashMap<>();
    store.kept().forEach((id, v) -> all.put(id.name(), value(v)));
    return all;
  }

  private static boolean same(Map<String, float[]> a, Map<String, float[]> b) {
    return a.keySet().equals(b.keySet())
        && a.keySet().stream().allMatch(k -> Arrays.equals(a.get(k), b.get(k)));
  }

  /** Variables of all forms, and a random history of steps that change them. */
  private static final class History {
    final ProcessStore store;
    final Random random;
    final Map<String, Variable> variables = new HashMap<>();
    final List<Map<String, float[]>> committed = new ArrayList<>();
    long step = 1;

    History(ProcessStore store, long seed) {
      this.store = store;
      random = new Random(seed);
      variables.put("small", make(store, "small", step, new float[SMALL]));
      variables.put("large", make(store, "large", step, new float[LARGE]));
      Variable table = store.create(id("table"), DType.FLOAT);
      try (Tensor t = Tensor.of(Shape.of(ROWS, WIDTH), new float[ROWS * WIDTH])) {
        table.assign(step, t);
      }
      variables.put("table", table);
      commit();
    }

    /** Goes on with what a store has kept. */
    History(ProcessStore store, Random random, Map<StateId, Variable> kept) {
      this.store = store;
      this.random = random;
      kept.forEach((id, v) -> variables.put(id.name(), v));
    }

    void commit() {
      store.commit(step++);
      Map<String, float[]> now = new HashMap<>();
      variables.forEach((n, v) -> now.put(n, value(v)));
      committed.add(now);
    }

    void randomStep() {
      if (random.nextInt(3) > 0) {
        add(variables.get("small"), step, random.nextInt(9));
      }
      if (random.nextInt(3) == 0) {
        add(variables.get("large"), step, random.nextInt(9));
      }
      if (random.nextInt(2) == 0) {
        int[] rows = random.ints(1 + random.nextInt(20), 0, ROWS).toArray();
        addRows(variables.get("table"), step, 1 + random.nextInt(9), rows);
      }
    }
  }

  @Test
  void aKilledTaskHasEveryCommitAndNothingElse() throws IOException {
    Path folder = temp.resolve("state");
    try (ProcessStore store = open(folder)) {
      History h = new History(store, SEED);
      for (int i = 0; i < 400; i++) {
        h.randomStep();
        Map<String, float[]> last = h.committed.getLast();
        boolean looks = i % 20 == 0;
        if (looks) {
          check(folder, last, "before commit " + i);
        }
        h.commit();
        if (looks) {
          check(folder, h.committed.getLast(), "after commit " + i);
        }
      }
    }
  }

  private void check(Path folder, Map<String, float[]> expected, String when) throws IOException {
    try (ProcessStore again = open(killed(folder))) {
      assertTrue(same(expected, values(again)), when + ", seed " + SEED);
    }
  }

  @Test
  void aStoreGoesOnAfterEachKill() throws IOException {
    Path folder = temp.resolve("state");
    ProcessStore store = open(folder);
    History h = new History(store, SEED);
    try {
      for (int life = 0; life < 12; life++) {
        for (int i = 0; i < 15; i++) {
          h.randomStep();
          h.commit();
        }
        Map<String, float[]> last = h.committed.getLast();
        folder = killed(folder);
        ProcessStore dead = store;
        store = open(folder);
        dead.close();
        assertTrue(same(last, values(store)), "life " + life);
        History next = h;
        h = new History(store, next.random, store.kept());
      }
    } finally {
      store.close();
    }
  }

  @Test
  void stringsAndRemovedVariablesAreKeptAndForgotten() throws IOException {
    Path folder = temp.resolve("state");
    try (ProcessStore store = open(folder)) {
      Variable mark = store.create(id("mark"), DType.STRING);
      try (Tensor t = Tensor.vector("a", "", "job")) {
        mark.assign(1, t);
      }
      Variable large = make(store, "large", 1, new float[LARGE]);
      store.commit(1);
      large.close();
      store.removed(id("large"));
      add(large, 2);
      store.commit(2);
      large.close();
      make(store, "large", 3, 1f);
      store.commit(3);
      try (ProcessStore again = open(killed(folder))) {
        Map<StateId, Variable> kept = again.kept();
        kept.get(id("mark"))
            .examine(t -> assertArrayEquals(new String[] {"a", "", "job"}, t.toStrings()));
        assertArrayEquals(new float[] {1}, value(kept.get(id("large"))));
      }
    }
  }

  /** A late change of a variable that was removed. */
  private static void add(Variable removed, long step) {
    try (Tensor t = Tensor.vector(1f)) {
      removed.assign(step, t);
    }
  }

  @Test
  void theEndOfATaskRemovesNothing() {
    Path folder = temp.resolve("state");
    try (ProcessStore store = open(folder)) {
      Resources resources = new Resources(store, "CPU:0");
      try (Tensor t = Tensor.vector(5f)) {
        resources.variable("", "v", DType.FLOAT).assign(1, t);
        resources.variable("", "gone", DType.FLOAT).assign(1, t);
      }
      store.commit(1);
      resources.remove("", "gone");
      resources.closeAll();
    }
    try (ProcessStore again = open(folder)) {
      Resources resources = new Resources(again, "CPU:0");
      assertArrayEquals(new float[] {5}, value(resources.get("", "v", Variable.class)));
      assertEquals(1, again.size());
    }
  }

  // ---- once ----

  private static final StepIdentity STEP = new StepIdentity(7, 100);

  @Test
  void aStepThatWasCommittedIsNotMadeAgain() throws IOException {
    Path folder = temp.resolve("state");
    try (ProcessStore store = open(folder)) {
      Variable v = make(store, "v", 1, 0f);
      store.commit(1);
      add(v, STEP.stepId(0), 1);
      store.commit(STEP.stepId(0));
      add(v, STEP.stepId(1), 1);
      store.commit(STEP.stepId(1));
      assertArrayEquals(new float[] {1}, value(v));
      try (ProcessStore again = open(killed(folder))) {
        Variable w = again.kept().get(id("v"));
        add(w, STEP.stepId(2), 1);
        again.commit(STEP.stepId(2));
        assertArrayEquals(new float[] {1}, value(w));
        add(w, STEP.next().stepId(0), 1);
        again.commit(STEP.next().stepId(0));
        assertArrayEquals(new float[] {2}, value(w));
        // An attempt of before, of a worker that was paused.
        add(w, STEP.stepId(0), 1);
        assertArrayEquals(new float[] {2}, value(w));
      }
    }
  }

  @Test
  void aStepThatWasHalfMadeIsCompleted() throws IOException {
    Path folder = temp.resolve("state");
    try (ProcessStore store = open(folder)) {
      Variable a = make(store, "a", 1, 0f);
      Variable b = make(store, "b", 1, 0f);
      store.commit(1);
      add(a, STEP.stepId(0), 1);
      // Another step stores a, with that change in it.
      add(a, 2, 10);
      store.commit(2);
      try (ProcessStore again = open(killed(folder))) {
        Variable a2 = again.kept().get(id("a"));
        Variable b2 = again.kept().get(id("b"));
        assertArrayEquals(new float[] {11}, value(a2));
        add(a2, STEP.stepId(1), 1);
        add(b2, STEP.stepId(1), 1);
        again.commit(STEP.stepId(1));
        assertArrayEquals(new float[] {11}, value(a2));
        assertArrayEquals(new float[] {1}, value(b2));
      }
      // In the process that was not killed, the same.
      store.failed(STEP.stepId(0));
      add(a, STEP.stepId(1), 1);
      add(b, STEP.stepId(1), 1);
      store.commit(STEP.stepId(1));
      assertArrayEquals(new float[] {11}, value(a));
      assertArrayEquals(new float[] {1}, value(b));
    }
  }

  @Test
  void aJointChangeIsNotMadeAgain() throws IOException {
    Path folder = temp.resolve("state");
    try (ProcessStore store = open(folder)) {
      Variable[] both = {make(store, "v", 1, 0f), make(store, "slot", 1, 0f)};
      store.commit(1);
      addToAll(both, STEP.stepId(0));
      store.commit(STEP.stepId(0));
      addToAll(both, STEP.stepId(1));
      store.commit(STEP.stepId(1));
      try (ProcessStore again = open(killed(folder))) {
        Variable[] kept = {again.kept().get(id("v")), again.kept().get(id("slot"))};
        addToAll(kept, STEP.stepId(2));
        assertArrayEquals(new float[] {1}, value(kept[0]));
        assertArrayEquals(new float[] {1}, value(kept[1]));
        addToAll(kept, STEP.next().stepId(0));
        assertArrayEquals(new float[] {2}, value(kept[0]));
      }
    }
  }

  private static void addToAll(Variable[] variables, long step) {
    Variable.updateAll(
        step,
        variables,
        null,
        true,
        values -> {
          for (Tensor t : values) {
            t.setDouble(0, t.doubleAt(0) + 1);
          }
        });
  }

  @Test
  void companionsAreStoredAsOfOneMoment() throws IOException {
    Path folder = temp.resolve("state");
    try (ProcessStore store = open(folder)) {
      Variable v = make(store, "v", 1, 0f);
      Variable slot = make(store, "slot", 1, 0f);
      store.commit(1);
      Variable.makeCompanions(v, slot);
      add(v, STEP.stepId(0), 1);
      add(slot, STEP.stepId(0), 1);
      add(v, 2, 10);
      store.commit(2);
      try (ProcessStore again = open(killed(folder))) {
        assertArrayEquals(new float[] {11}, value(again.kept().get(id("v"))));
        assertArrayEquals(new float[] {1}, value(again.kept().get(id("slot"))));
      }
    }
  }

  @Test
  void aChangeThatIsLeftOutIsStoredBeforeItsStepIsAcknowledged() throws IOException {
    Path folder = temp.resolve("state");
    try (ProcessStore store = open(folder)) {
      Variable v = make(store, "v", 1, 0f);
      store.commit(1);
      add(v, STEP.stepId(0), 1);
      store.failed(STEP.stepId(0));
      add(v, STEP.stepId(1), 1);
      store.commit(STEP.stepId(1));
      try (ProcessStore again = open(killed(folder))) {
        assertArrayEquals(new float[] {1}, value(again.kept().get(id("v"))));
      }
    }
  }

  @Test
  void theMarksOfASummaryAreThoseOfTheStoredValue() throws IOException {
    Path folder = temp.resolve("state");
    try (ProcessStore store = open(folder)) {
      Variable v = make(store, "v", 1, 0f);
      Variable other = make(store, "other", 1, new float[1000]);
      store.commit(1);
      add(v, STEP.stepId(0), 1); // in memory only
      for (int i = 2; i < 200; i++) { // the journal restarts several times
        add(other, i, 1);
        store.commit(i);
      }
      try (ProcessStore again = open(killed(folder))) {
        Variable w = again.kept().get(id("v"));
        assertArrayEquals(new float[] {0}, value(w));
        add(w, STEP.stepId(1), 1);
        assertArrayEquals(new float[] {1}, value(w));
      }
    }
  }

  @Test
  void aStepOfBeforeARestoreIsMadeAgain() throws IOException {
    try (ProcessStore store = open(temp.resolve("state"))) {
      Variable v = make(store, "v", 1, 0f);
      store.commit(1);
      add(v, STEP.stepId(0), 1);
      store.commit(STEP.stepId(0));
      try (Tensor t = Tensor.vector(0f)) {
        v.assign(2, t);
      }
      store.commit(2);
      add(v, STEP.stepId(1), 1);
      assertArrayEquals(new float[] {1}, value(v));
    }
  }

  // ---- what is refused ----

  @Test
  void twoTasksCannotShareAFolder() {
    Path folder = temp.resolve("state");
    try (ProcessStore _ = open(folder)) {
      var e = assertThrows(MillraceException.class, () -> open(folder));
      assertEquals(Code.FAILED_PRECONDITION, e.code());
      assertTrue(e.getMessage().contains("Another process uses the state in"), e.getMessage());
    }
  }

  @Test
  void anotherVersionIsRefused() throws IOException {
    Path folder = temp.resolve("state");
    open(folder).close();
    change(folder.resolve("journal-0"), 8, (byte) 2);
    var e = assertThrows(MillraceException.class, () -> open(folder));
    assertEquals(Code.DATA_LOSS, e.code());
    assertTrue(e.getMessage().contains("it says version 2"), e.getMessage());
  }

  private static void change(Path file, long at, byte to) throws IOException {
    try (FileChannel c = FileChannel.open(file, StandardOpenOption.WRITE)) {
      c.write(ByteBuffer.wrap(new byte[] {to}), at);
    }
  }

  @Test
  void damageIsRefusedOrLeavesAnOlderState() throws IOException {
    Path folder = temp.resolve("state");
    List<Map<String, float[]>> states;
    try (ProcessStore store = open(folder)) {
      History h = new History(store, SEED);
      for (int i = 0; i < 60; i++) {
        h.randomStep();
        h.commit();
      }
      states = h.committed;
    }
    Random random = new Random(SEED);
    List<Path> files;
    try (var list = Files.list(folder)) {
      files = list.filter(f -> !f.endsWith("lock")).sorted().toList();
    }
    int refused = 0;
    for (int i = 0; i < 1000; i++) {
      Path copy = killed(folder);
      Path file = copy.resolve(files.get(random.nextInt(files.size())).getFileName());
      // Half of the damage is where most of what is written lies.
      long size = Files.size(file);
      long at = (long) (size * (random.nextBoolean() ? 1 : 0.1) * random.nextDouble());
      if (random.nextInt(20) == 0) {
        try (FileChannel c = FileChannel.open(file, StandardOpenOption.WRITE)) {
          c.truncate(at);
        }
      } else {
        change(file, at, (byte) random.nextInt(256));
      }
      String what = "case " + i + ", seed " + SEED + ": byte " + at + " of " + file;
      try (ProcessStore again = open(copy)) {
        Map<String, float[]> found = values(again);
        assertTrue(
            found.isEmpty() || states.stream().anyMatch(s -> same(s, found)), what + " is wrong");
        release(opened.removeLast());
      } catch (MillraceException e) {
        assertEquals(Code.DATA_LOSS, e.code(), what);
        refused++;
      }
      remove(copy);
    }
    assertTrue(refused > 100, "only " + refused + " refused");
  }

  @Test
  void aFullDiskFailsTheCommitAndKeepsWhatWasThere() throws Exception {
    Path disk = Files.createDirectory(temp.resolve("disk"));
    assumeTrue(
        system("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk.toString()),
        "only root may mount a small disk");
    try (ProcessStore store = open(disk.resolve("state"))) {
      Variable small = make(store, "small", 1, 0f);
      Variable large = make(store, "large", 1, new float[100_000]);
      store.commit(1);
      Variable tooLarge = make(store, "tooLarge", 2, new float[2_000_000]);
      add(large, 2, 1);
      var e = assertThrows(MillraceException.class, () -> store.commit(2));
      assertEquals(Code.RESOURCE_EXHAUSTED, e.code(), e.getMessage());
      assertTrue(e.getMessage().contains("No space left"), e.getMessage());
      assertEquals(0, value(small)[0]);
      try (ProcessStore again = open(killed(disk.resolve("state")))) {
        assertEquals(0, value(again.kept().get(id("large")))[0]);
        assertEquals(2, again.size());
      }
      tooLarge.close();
      add(large, 3, 1);
      add(small, 3, 1);
      store.commit(3);
      try (ProcessStore again = open(killed(disk.resolve("state")))) {
        // The step that failed has changed it too, in memory, as in TensorFlow.
        assertEquals(2, value(again.kept().get(id("large")))[0]);
        assertEquals(1, value(again.kept().get(id("small")))[0]);
      }
    } finally {
      system("umount", disk.toString());
    }
  }

  private static boolean system(String... command) throws IOException, InterruptedException {
    try {
      Process p = new ProcessBuilder(command).redirectErrorStream(true).start();
      return p.waitFor(20, TimeUnit.SECONDS) && p.exitValue() == 0;
    } catch (IOException e) {
      return false;
    }
  }

  private static void remove(Path folder) throws IOException {
    try (var files = Files.list(folder)) {
      for (Path f : files.toList()) {
        Files.delete(f);
      }
    }
    Files.delete(folder);
  }
}
