package dev.millrace.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.jr.ob.JSON;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.HeldPorts;
import dev.millrace.graph.Output;
import dev.millrace.job.ending.StopSwitch;
import dev.millrace.ops.array.Const;
import dev.millrace.proto.SavedModel;
import dev.millrace.proto.SignatureDef;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.checkpoint.CheckpointFolder;
import dev.millrace.train.data.Datasets;
import dev.millrace.train.hook.SessionRunArgs;
import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.hook.SessionRunValues;
import dev.millrace.train.layers.Losses;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(120)
class JobTest {
  private static final int EXAMPLES = 240;

  private final AtomicIntegerArray trained = new AtomicIntegerArray(EXAMPLES);
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();
  private final StopSwitch stop = new StopSwitch(() -> {});

  @TempDir Path folder;

  private int run(Job job, String... args) {
    return job.call(stop, new PrintStream(out, true), new PrintStream(err, true), args);
  }

  private String err() {
    return err.toString(StandardCharsets.UTF_8);
  }

  private Map<String, Object> result() throws IOException {
    return JSON.std.mapFrom(Files.readString(folder.resolve(JobResult.FILE)));
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void aModelTrainsInEveryMode(Mode mode) throws IOException {
    // Enough examples that 300 steps do not learn them by heart.
    AtomicIntegerArray many = new AtomicIntegerArray(4000);
    int code =
        run(
            Click.job(many),
            "--mode",
            mode.toString(),
            "--steps",
            "300",
            "--log-dir",
            folder.toString(),
            "--evaluate-every",
            "100");
    assertEquals(0, code, err());
    Map<String, Object> result = result();
    assertEquals("ok", result.get("outcome"));
    assertTrue(((Number) result.get("step")).longValue() >= 300, result.toString());
    double accuracy = ((Number) ((Map<?, ?>) result.get("metrics")).get("accuracy")).doubleValue();
    assertTrue(accuracy > .8, "accuracy " + accuracy);
    String text = out.toString(StandardCharsets.UTF_8);
    assertTrue(text.contains("evaluation:  loss"), text);
    assertTrue(text.lines().toList().getLast().startsWith("click: step 30"), text);
  }

  /** What was trained must not be trained again because the evaluation after it has failed. */
  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"LOCAL", "ASYNC", "RING"})
  void anEvaluationThatFailsLosesNoStep(Mode mode) {
    Job job =
        Click.job(trained)
            .evaluate(
                () ->
                    Datasets.generated(
                        20,
                        i -> {
                          throw MillraceException.invalid("example %d is broken", i);
                        }));
    String logs = folder.toString();
    int code = run(job, "--mode=" + mode, "--steps=30", "--log-dir=" + logs);
    // 2 is the worker's, for its input; 1 the parameter server's, for a job whose worker failed.
    assertTrue(code == 2 || mode == Mode.ASYNC && code == 1, err());
    assertTrue(err().contains("example 0 is broken"), err());
    String saved = CheckpointFolder.latest(folder).orElseThrow().toString();
    assertTrue(Integer.parseInt(saved.replaceAll(".*-", "")) >= 30, saved);
  }

  /** Three ranks, then two, then one process: nobody trains an example twice in an epoch. */
  @Test
  void aJobGoesOnWithOtherWorkersWhereTheDataWas() {
    String logs = folder.toString();
    Job job = Click.job(trained);
    assertEquals(0, run(job, "--mode=ring", "--workers=3", "--steps=2", "--log-dir", logs), err());
    assertEquals(120, total());
    assertEquals(0, run(job, "--mode=ring", "--workers=2", "--steps=5", "--log-dir", logs), err());
    assertEquals(EXAMPLES, total());
    for (int i = 0; i < EXAMPLES; i++) {
      assertEquals(1, trained.get(i), "example " + i);
    }
    assertEquals(0, run(job, "--steps=17", "--log-dir", logs), err());
    for (int i = 0; i < EXAMPLES; i++) {
      assertEquals(2, trained.get(i), "example " + i);
    }
  }

  /** Stopped twice and continued with other tasks: what was trained is counted at every end. */
  @ParameterizedTest
  @EnumSource(Mode.class)
  void everyExampleIsTrainedOnceInEveryEpochWhoeverTrains(Mode mode) throws Exception {
    stoppedAt(40, mode, 3, 1);
    stoppedAt(60, mode, 2, 2);
    assertEquals(0, run(Click.job(trained), epochs(mode, 4, 1)), err());
    int most = mode == Mode.SYNC || mode == Mode.RING ? 4 : 3;
    for (int i = 0; i < EXAMPLES; i++) {
      assertTrue(trained.get(i) >= 3 && trained.get(i) <= most, "example " + i + ": " + trained);
    }
    // Where all make every step together, those with a smaller share take some of the next epoch.
    assertTrue(total() <= 3 * EXAMPLES + 3 * 9, "trained " + total());
  }

  /** Worker 1 is in the midst of a step when the chief has made its last one. */
  @ParameterizedTest
  @EnumSource(names = {"ASYNC", "BOUNDED"})
  void theLastSaveHasTheLastStepsOfAllWorkers(Mode mode) throws Exception {
    AtomicInteger made = new AtomicInteger();
    Job job = Click.job(trained).hook(m -> new SlowLastStep(stop, made));
    String[] args = {"--mode", mode.toString(), "--steps", "1000000", "--log-dir", folder + ""};
    assertEquals(143, run(job, args), err());
    String saved = Files.readAllLines(folder.resolve("checkpoint")).getFirst();
    assertTrue(saved.endsWith("-" + made + "\""), made + " steps, but " + saved);
    assertEquals(made.get(), ((Number) result().get("step")).intValue());
  }

  /** Tells the job to stop while worker 1 is about to make a step, which takes a while. */
  private record SlowLastStep(StopSwitch stop, AtomicInteger made) implements SessionRunHook {
    @Override
    public SessionRunArgs beforeRun(SessionRunContext context) {
      if (made.get() > 20
          && !stop.isRaised()
          && Thread.currentThread().getName().endsWith("worker/1")) {
        stop.raise();
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(700));
      }
      return SessionRunArgs.NONE;
    }

    @Override
    public void afterRun(SessionRunContext context, SessionRunValues values) {
      made.incrementAndGet();
    }
  }

  private void stoppedAt(int step, Mode mode, int workers, int servers) throws Exception {
    CompletableFuture<Void> begun = new CompletableFuture<>();
    StopSwitch own = new StopSwitch(() -> {});
    Job job = Click.job(trained).hook(m -> new AtStep(step, begun));
    PrintStream both = new PrintStream(err, true);
    int before = total();
    CompletableFuture<Integer> code =
        CompletableFuture.supplyAsync(
            () -> job.call(own, both, both, epochs(mode, workers, servers)));
    CompletableFuture.anyOf(begun, code).get(60, TimeUnit.SECONDS);
    assertTrue(begun.isDone(), err());
    own.raise();
    assertEquals(143, code.get(60, TimeUnit.SECONDS), err());
    assertTrue(total() > before);
  }

  private String[] epochs(Mode mode, int workers, int servers) {
    List<String> args = new ArrayList<>(List.of("--epochs=3", "--batch-size=1"));
    args.addAll(List.of("--mode", mode.toString(), "--log-dir", folder.toString()));
    if (mode != Mode.LOCAL) {
      args.add("--workers=" + workers);
    }
    if (mode.hasServers()) {
      args.add("--ps=" + servers);
    }
    return args.toArray(String[]::new);
  }

  private int total() {
    int sum = 0;
    for (int i = 0; i < EXAMPLES; i++) {
      sum += trained.get(i);
    }
    return sum;
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void aJobThatIsToldToStopSavesAndGoesOn(Mode mode) throws Exception {
    String[] args = {"--mode", mode.toString(), "--steps", "1000000", "--log-dir", folder + ""};
    CompletableFuture<Void> begun = new CompletableFuture<>();
    Job job = Click.job(trained).hook(m -> new AtStep(10, begun));
    CompletableFuture<Integer> code = CompletableFuture.supplyAsync(() -> run(job, args));
    CompletableFuture.anyOf(begun, code).get(60, TimeUnit.SECONDS);
    assertTrue(begun.isDone(), err());
    stop.raise();
    assertEquals(143, code.get(60, TimeUnit.SECONDS), err());
    assertTrue(err().contains("goes on from its checkpoint"), err());
    Map<String, Object> result = result();
    assertEquals("stopped", result.get("outcome"));
    long step = ((Number) result.get("step")).longValue();
    long more = step + 5;
    StopSwitch fresh = new StopSwitch(() -> {});
    int again =
        Click.job(trained)
            .call(
                fresh,
                new PrintStream(out, true),
                new PrintStream(err, true),
                "--mode",
                mode.toString(),
                "--steps",
                Long.toString(more),
                "--log-dir",
                folder.toString());
    assertEquals(0, again, err());
    assertTrue(((Number) result().get("step")).longValue() >= more);
  }

  /** The first evaluation is the best: 40 steps later patience ends, for all tasks. */
  @ParameterizedTest
  @EnumSource(Mode.class)
  void trainingEndsEarlyWhenTheModelGetsNoBetter(Mode mode) throws IOException {
    Job job =
        Click.job(trained)
            .model(m -> Click.build(m).metric("same", Const.of(m.scope(), 1f)))
            .keepHighest("same")
            .evaluateEvery(20)
            .patience(40);
    int code =
        run(job, "--mode", mode.toString(), "--steps=1000000", "--log-dir", folder.toString());
    assertEquals(0, code, err());
    String text = out.toString(StandardCharsets.UTF_8);
    assertTrue(text.contains("No better same since step "), text);
    Map<String, Object> result = result();
    assertEquals("early", result.get("outcome"));
    long step = ((Number) result.get("step")).longValue();
    assertTrue(step >= 60 && step < 1000, text);
    assertTrue(text.lines().toList().getLast().contains("/1000000 (early)  loss"), text);
    Map<?, ?> best = JSON.std.mapFrom(Files.readString(folder.resolve("best/best.json")));
    assertTrue(((Number) best.get("step")).longValue() <= step - 40, best + text);
  }

  @Test
  void theBestModelIsKept() {
    Job job = Click.job(trained).keepHighest("accuracy");
    assertEquals(
        0, run(job, "--steps=60", "--evaluate-every=20", "--log-dir", folder.toString()), err());
    assertTrue(Files.exists(folder.resolve("best/checkpoint")));
    assertTrue(Files.exists(folder.resolve("best/export")));
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void theTrainedModelIsExportedForServers(Mode mode) throws IOException {
    Job job = Click.job(trained).model(m -> Click.build(m).servedInput("numbers", m.input(1)));
    int code = run(job, "--mode", mode.toString(), "--steps=5", "--log-dir", folder.toString());
    assertEquals(0, code, err());
    long step = ((Number) result().get("step")).longValue();
    Path model = folder.resolve("export").resolve(Long.toString(step));
    SavedModel saved = SavedModel.parseFrom(Files.readAllBytes(model.resolve("saved_model.pb")));
    SignatureDef signature = saved.getMetaGraphs(0).getSignatureDefOrThrow("serving_default");
    // The label is no input of a prediction.
    assertEquals(Set.of("numbers", "input_0", "input_2"), signature.getInputsMap().keySet());
    assertEquals(Set.of("logits", "number"), signature.getOutputsMap().keySet());
    assertTrue(Files.exists(model.resolve("variables/variables.index")));
  }

  /** No accuracy is above that of the note: the job that goes on must leave the folder alone. */
  @Test
  void aJobThatGoesOnKeepsABetterModelOfBefore() throws IOException {
    Job job = Click.job(trained).keepHighest("accuracy");
    assertEquals(0, run(job, "--steps=20", "--log-dir", folder.toString()), err());
    Path note = folder.resolve("best/best.json");
    Map<String, Object> first = JSON.std.mapFrom(Files.readString(note));
    assertEquals(20, first.get("step"));
    assertEquals(((Map<?, ?>) result().get("metrics")).get("accuracy"), first.get("value"));
    String better = "{\"metric\":\"accuracy\",\"value\":1.5,\"step\":20}";
    Files.writeString(note, better);
    String checkpoint = Files.readString(folder.resolve("best/checkpoint"));
    assertEquals(0, run(job, "--steps=40", "--log-dir", folder.toString()), err());
    assertEquals(better, Files.readString(note));
    assertEquals(checkpoint, Files.readString(folder.resolve("best/checkpoint")));
    // By another metric the figure means nothing.
    Job other = Click.job(trained).keepLowest("loss");
    assertEquals(0, run(other, "--steps=60", "--log-dir", folder.toString()), err());
    assertEquals("loss", JSON.std.mapFrom(Files.readString(note)).get("metric"));
  }

  @Test
  void anEvaluatorFollowsTheCheckpointsOfAJob() throws IOException {
    Job job = Click.job(trained).keepHighest("accuracy");
    assertEquals(0, run(job, "--steps=30", "--log-dir", folder.toString()), err());
    int code =
        run(
            job,
            "--job_name=evaluator",
            "--task_index=0",
            "--steps=30",
            "--log-dir",
            folder.toString());
    assertEquals(0, code, err());
    assertTrue(out.toString(StandardCharsets.UTF_8).contains("step 30/30  evaluation:"));
    Path own = folder.resolve("eval");
    Map<String, Object> found = JSON.std.mapFrom(Files.readString(own.resolve(JobResult.FILE)));
    assertEquals(result().get("metrics"), found.get("metrics"));
    assertTrue(Files.exists(own.resolve("best/best.json")));
  }

  @Test
  void anEvaluatorThatIsToldToStopLeavesAtOnce() throws Exception {
    CompletableFuture<Void> nothing = new CompletableFuture<>();
    StopSwitch own = new StopSwitch(() -> nothing.complete(null));
    PrintStream both = new PrintStream(err, true);
    String[] args = {"--job_name=evaluator", "--steps=30", "--log-dir", folder.toString()};
    Job job = Click.job(trained);
    CompletableFuture<Integer> code =
        CompletableFuture.supplyAsync(() -> job.call(own, both, both, args));
    own.raise();
    assertEquals(143, code.get(30, TimeUnit.SECONDS), err());
    assertTrue(nothing.isDone());
    assertTrue(err().contains("The evaluator was told to stop"), err());
  }

  /** A parameter server without workers, which is told to stop as soon as it serves. */
  @Test
  void aParameterServerDoesNotReadTheData() throws Exception {
    Job job =
        Job.named("far")
            .model(m -> Model.minimizing(line(m)))
            .train(
                () -> {
                  throw new AssertionError("The data was read");
                });
    try (HeldPorts ports = HeldPorts.take(2)) {
      String[] args = {
        "--ps_hosts=" + ports.addresses().get(0),
        "--worker_hosts=" + ports.addresses().get(1),
        "--job_name=ps",
        "--task_index=0"
      };
      CompletableFuture<Void> nothing = new CompletableFuture<>();
      StopSwitch own = new StopSwitch(() -> nothing.complete(null));
      PrintStream both = new PrintStream(err, true);
      CompletableFuture<Integer> code = new CompletableFuture<>();
      Thread.ofVirtual().start(() -> code.complete(job.call(own, both, both, args)));
      own.raise();
      CompletableFuture.anyOf(nothing, code).get(60, TimeUnit.SECONDS);
      assertTrue(nothing.isDone(), err());
      assertFalse(code.isDone(), err());
    }
  }

  @Test
  void aProgramHasItsOwnLoop() {
    Job job = Click.job(trained).loop((s, step, m) -> s.loop(x -> x.run(Map.of(), step)));
    assertEquals(0, run(job, "--epochs=1"), err());
    assertEquals(EXAMPLES, total());
  }

  @Test
  void aNotANumberInTheInputIsNamed() {
    Job job =
        Job.named("line")
            .model(m -> Model.minimizing(line(m)))
            .train(
                () ->
                    Datasets.generated(
                        8, i -> new Tensor[] {Tensor.vector(i == 5 ? Float.NaN : i), one(i)}));
    assertEquals(1, run(job, "--batch-size=4", "--steps=4"));
    assertTrue(
        err().startsWith("line: The loss is NaN because of the input: tensor 0 of example 1"),
        err());
    assertFalse(err().contains("\tat "), err());
  }

  @Test
  void anInfiniteLossIsNoticed() {
    Job job =
        Job.named("line")
            .model(m -> Model.minimizing(line(m)))
            .train(
                () ->
                    Datasets.generated(
                        8, i -> new Tensor[] {Tensor.vector(i * 1e30f), Tensor.vector(-1e30f)}));
    assertEquals(1, run(job, "--batch-size=4", "--steps=4"));
    assertTrue(err().contains("is Infinity at worker 0, and all of its input are numbers"), err());
  }

  private static Tensor one(int i) {
    return Tensor.vector((float) i);
  }

  private static Output line(ModelBuilder m) {
    return Losses.meanSquaredError(m.scope(), m.dense("line", m.input(0), 1), m.input(1));
  }

  @Test
  void whatIsWrongIsSaidInOneSentence() {
    assertSays(2, "click: There is no flag '--step'. Closest: --steps", "--step=4");
    assertSays(2, "click: --steps is 0; it must be at least 1.", "--steps=0");
    assertSays(2, "click: Give --steps or --epochs, not both.", "--steps=1", "--epochs=1");
    assertSays(2, "click: --steps is -4294967297; it", "--steps=-4294967297");
    assertSays(2, "click: --workers is 0; it must be at least 1.", "--mode=ring", "--workers=0");
    assertSays(2, "click: --ps is -1; it must be at least 1.", "--mode=async", "--ps=-1");
    assertSays(2, "click: --evaluate-every is -5; it must be at least 0.", "--evaluate-every=-5");
    assertSays(2, "click: --patience is 9, but the model is evaluated at", "--patience=9");
    assertSays(
        2,
        "click: --patience is 9, but the program does not say which model is better: give it a"
            + " metric with Job.keepHighest",
        "--patience=9",
        "--evaluate-every=3");
    assertSays(2, "click: --mode is 'fast'; it must be one of", "--mode=fast");
  }

  private void assertSays(int code, String sentence, String... args) {
    err.reset();
    assertEquals(code, run(Click.job(trained), args));
    assertTrue(err().startsWith(sentence), err());
    assertEquals(1, err().lines().count(), err());
  }

  @Test
  void aModelThatDoesNotBuildIsWrongUse() {
    Job job =
        Job.named("odd")
            .model(m -> Model.minimizing(m.input(7)))
            .train(() -> Datasets.generated(3, i -> new Tensor[] {one(i)}));
    assertEquals(2, run(job, "--steps=1"));
    assertEquals(
        "odd: The model cannot be built: The model asks for input 7; an element of the data has 1"
            + " tensors, numbered from 0.",
        err().strip());
  }

  @Test
  void aLossThatIsNotOneNumberIsRefused() {
    Job job =
        Job.named("odd")
            .model(m -> Model.minimizing(Const.of(m.scope(), Tensor.of(Shape.of(2), 1f, 2f))))
            .train(() -> Datasets.generated(3, i -> new Tensor[] {one(i)}));
    assertEquals(2, run(job, "--steps=1"));
    assertTrue(err().contains("it must be one number"), err());
  }

  @Test
  void anIdOutsideOfATableNamesTheTable() {
    Job job =
        Job.named("ids")
            .model(
                m ->
                    Model.minimizing(
                        Losses.meanSquaredError(
                            m.scope(), m.embedding("site", m.input(0), 4, 1), m.input(1))))
            .train(
                () ->
                    Datasets.generated(
                        8, i -> new Tensor[] {Tensor.scalar((long) i), Tensor.vector(1f)}));
    assertEquals(2, run(job, "--batch-size=8", "--steps=1"));
    assertEquals(
        "ids: indices[4] = 4 is not in [0, 4) (node 'site_1/embedding_lookup').", err().strip());
  }

  @Test
  void dataThatFailsNamesItsPlace() {
    Job job =
        Job.named("line")
            .model(m -> Model.minimizing(line(m)))
            .train(
                () ->
                    Datasets.generated(
                        8,
                        i -> {
                          if (i == 5) {
                            throw new IllegalStateException("row 5 is torn");
                          }
                          return new Tensor[] {one(i), one(i)};
                        }));
    assertEquals(1, run(job, "--batch-size=2", "--steps=4"));
    assertEquals(
        "line: The training data of worker 0 fails after its example 4 of part 0 of epoch 0:"
            + " java.lang.IllegalStateException: row 5 is torn",
        err().strip());
  }

  @Test
  void aClassThatIsMissingIsNamed() {
    Job job =
        Job.named("line")
            .model(
                m -> {
                  throw new NoClassDefFoundError("com/acme/Layer");
                })
            .train(() -> Datasets.generated(3, i -> new Tensor[] {one(i)}));
    assertEquals(2, run(job, "--steps=1"));
    assertEquals(
        "line: Class com.acme.Layer was not found: its jar is not on the class path of this task.",
        err().strip());
  }

  /** As little as the folder may grow, neither the model nor the result of before are touched. */
  @Test
  void aFolderOfAnotherModelIsLeftAlone() throws IOException {
    assertEquals(0, run(Click.job(trained), "--steps=2", "--log-dir", folder + ""), err());
    String checkpoint = Files.readString(folder.resolve("checkpoint"));
    Job other =
        Job.named("line")
            .model(m -> Model.minimizing(line(m)))
            .train(() -> Datasets.generated(8, i -> new Tensor[] {one(i), one(i)}));
    assertEquals(2, run(other, "--steps=9", "--batch-size=2", "--log-dir", folder + ""));
    assertTrue(err().contains("is of another model"), err());
    assertEquals(1, err().lines().count(), err());
    assertEquals(checkpoint, Files.readString(folder.resolve("checkpoint")));
    assertEquals("click", result().get("job"));
  }

  @Test
  void helpListsAllFlags() {
    assertEquals(
        0, run(Click.job(trained).flag("units", 8, "Units of the hidden layer."), "--help"));
    String text = out.toString(StandardCharsets.UTF_8);
    assertTrue(text.contains("--units INTEGER"), text);
    assertTrue(text.contains("--evaluate-every LONG"), text);
  }

  @Test
  void aProgramThatGoesOnGetsTheResult() {
    JobResult r = Click.job(trained).start("--steps=10");
    assertEquals(10, r.step());
    assertTrue(r.metrics().containsKey("accuracy"));
    MillraceException e = assertThrows(MillraceException.class, () -> Job.named("none").start());
    assertTrue(e.getMessage().contains("Job.model"), e.getMessage());
  }
}
