package dev.millrace.interop.suite;

import dev.millrace.base.MillraceException;
import dev.millrace.base.config.CommandSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.config.TestSettings;
import dev.millrace.interop.PythonTensorFlow;
import dev.millrace.interop.TrainingGraph;
import dev.millrace.interop.TrainingSpec;
import dev.millrace.interop.TrainingSpec.Model;
import dev.millrace.interop.TrainingSpec.Optimizer;
import dev.millrace.interop.TrainingSpec.Variables;
import dev.millrace.interop.allreduce.AllReduceBenchmark;
import dev.millrace.interop.bench.BenchReport;
import dev.millrace.interop.bench.CheckpointWriting;
import dev.millrace.interop.bench.Contender;
import dev.millrace.interop.bench.ContenderProcess;
import dev.millrace.interop.bench.HandWritten;
import dev.millrace.interop.bench.HookedTraining;
import dev.millrace.interop.bench.InputReading;
import dev.millrace.interop.bench.Match;
import dev.millrace.interop.bench.MillraceCluster;
import dev.millrace.interop.bench.MillraceLocal;
import dev.millrace.interop.bench.NullStep;
import dev.millrace.interop.bench.PeerJar;
import dev.millrace.interop.bench.PlainTransfer;
import dev.millrace.interop.bench.Suite;
import dev.millrace.interop.bench.TensorFlowCluster;
import dev.millrace.interop.bench.TensorFlowLocal;
import dev.millrace.interop.bench.TrainingBatch;
import dev.millrace.interop.job.ClickBenchmark;
import dev.millrace.interop.job.StartupBenchmark;
import dev.millrace.interop.ring.DataParallel;
import dev.millrace.interop.ring.SyncTraining;
import dev.millrace.interop.serving.ServedClicks;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The questions that are asked, and who answers them. Run it with the names of suites or of
 * questions, or parts of them, to ask only those; {@code -Dbench.rounds} and {@code
 * -Dbench.seconds} say how often and how long, {@code -Dbench.json} where the results go too, and
 * {@code -Dbench.peers=false} leaves out the other libraries of the JVM, which are slow to start.
 * With {@code -Dbench.list=true} the questions are only named.
 */
public final class Benchmarks {
  private static final int BATCH = 100;

  /** How long whole jobs run at least. */
  private static final Duration START = Duration.ofSeconds(30);

  private static final Duration JOB = Duration.ofSeconds(60);
  private static final List<Model> MODELS = List.of(Model.SOFTMAX, Model.MLP, Model.CNN);

  private static final List<String> PURE_JAVA = List.of("-Dmillrace.native=false");

  /** Tensors are not on the heap, so that a small one will do. */
  private static final List<String> SMALL_HEAP = List.of("-XX:+UseSerialGC", "-Xmx128m");

  /** What is asked, and of whom; the first is who the others are compared with. */
  private record Question(Suite suite, String name, List<Supplier<Contender>> contenders) {
    boolean isMeant(List<String> words) {
      return Benchmarks.isMeant(suite, name, words);
    }
  }

  /** Whether a question is one of those that {@code words} name: suites, or parts of names. */
  static boolean isMeant(Suite suite, String question, List<String> words) {
    return words.isEmpty()
        || words.contains("all")
        || words.contains(suite.toString())
        || words.stream().anyMatch(w -> !isSuite(w) && question.contains(w));
  }

  /** The all-reduces that {@code words} name. */
  static AllReduceBenchmark.Settings allReduces(List<String> words) {
    return AllReduceBenchmark.Settings.DEFAULT.about(q -> isMeant(Suite.ALLREDUCE, q, words));
  }

  private final List<Question> questions = new ArrayList<>();
  private final BenchReport report = new BenchReport(System.out);

  private final Map<TrainingSpec, Path> graphs =
      new TreeMap<>((a, b) -> a.toString().compareTo(b.toString()));
  private final Path folder;

  private Benchmarks(Path folder, boolean peers) {
    this.folder = folder;
    for (Model model : MODELS) {
      for (int threads = 1; threads <= 2; threads++) {
        int n = threads;
        ask(
            Suite.LOCAL,
            "local " + lower(model) + " " + n,
            () -> local(TensorFlowLocal.Training.class, model, n),
            peers ? () -> PeerJar.DJL.training(lower(model), n) : null,
            peers ? () -> PeerJar.DL4J.training(lower(model), n) : null,
            () -> millrace(List.of(), model, n),
            model == Model.CNN ? null : () -> local(HandWritten.Training.class, model, n));
        ask(
            Suite.LOCAL,
            "noise " + lower(model) + " " + n,
            () -> local(TensorFlowLocal.Training.class, model, n, TrainingBatch.NOISE),
            () -> millrace(List.of(), model, n, TrainingBatch.NOISE),
            model == Model.CNN
                ? null
                : () -> local(HandWritten.Training.class, model, n, TrainingBatch.NOISE));
        ask(
            Suite.LOCAL,
            "pure java " + lower(model) + " " + n,
            () -> local(TensorFlowLocal.Training.class, model, n),
            () -> millrace(PURE_JAVA, model, n));
        ask(
            Suite.LOCAL,
            "pure java noise " + lower(model) + " " + n,
            () -> local(TensorFlowLocal.Training.class, model, n, TrainingBatch.NOISE),
            () -> millrace(PURE_JAVA, model, n, TrainingBatch.NOISE));
      }
    }
    ask(
        Suite.LOCAL,
        "local empty step",
        () -> ContenderProcess.start(TensorFlowLocal.Empty.class, List.of("1")),
        () -> ContenderProcess.start(SMALL_HEAP, MillraceLocal.Empty.class, List.of("1")));
    for (Model model : MODELS) {
      for (int workers = 1; workers <= 2; workers++) {
        int n = workers;
        ask(
            Suite.TRAINING,
            "1 ps " + n + (n == 1 ? " worker " : " workers ") + lower(model),
            () -> TensorFlowCluster.training(cluster(model, n)),
            () -> MillraceCluster.training(cluster(model, n)));
      }
    }
    for (String network : List.of("softmax", "mlp", "cnn")) {
      ask(
          Suite.TRAINING,
          "synchronous " + network,
          () -> SyncTraining.tensorFlow(network),
          () -> SyncTraining.millrace(network));
    }
    ask(
        Suite.TRAINING,
        "hooks",
        () -> ContenderProcess.start(HookedTraining.Plain.class, List.of()),
        () -> in("hooks", HookedTraining.Hooked.class));
    ask(
        Suite.TRAINING,
        "checkpoint of 64 MiB",
        () -> in("disk", CheckpointWriting.Disk.class),
        () -> in("checkpoints", CheckpointWriting.Checkpoint.class));
    for (String network : List.of("mlp", "cnn")) {
      ask(
          Suite.TRAINING,
          "data parallel " + network,
          () -> DataParallel.pyTorch(network),
          () -> DataParallel.millrace(network));
    }
    ask(
        Suite.CLUSTER,
        "scalar from ps",
        () -> TensorFlowCluster.read(1),
        () -> MillraceCluster.read(1));
    ask(
        Suite.CLUSTER,
        "64 MiB from ps",
        () -> TensorFlowCluster.read(16 << 20),
        () -> MillraceCluster.read(16 << 20),
        () -> MillraceCluster.readByRecvTensor(16 << 20),
        () -> new PlainTransfer(64 << 20));
    ask(
        Suite.CLUSTER,
        "client, step on the worker",
        () -> TensorFlowCluster.client(false),
        () -> MillraceCluster.client(false));
    ask(
        Suite.CLUSTER,
        "client, scalar of the ps",
        () -> TensorFlowCluster.client(true),
        () -> MillraceCluster.client(true));
    for (String format : InputReading.FORMATS) {
      ask(
          Suite.INPUT,
          "input " + format + ", rows per CPU second",
          () -> InputReading.tensorFlow(format, input()),
          () -> InputReading.millrace(format, input()));
    }
    ask(
        Suite.SERVING,
        "single rows in a program, one thread",
        () -> ServedClicks.predictor(serving(), "tensors"),
        () -> ServedClicks.predictor(serving(), "values"));
    ask(
        Suite.SERVING,
        "single rows over the network",
        () -> ServedClicks.tensorFlow(serving()),
        () -> ServedClicks.rest(serving()),
        () -> ServedClicks.changing(serving()),
        () -> ServedClicks.grpc(serving()));
    for (NullStep what : NullStep.values()) {
      for (int ps = 1; ps <= 2; ps++) {
        for (int workers = 1; workers <= 2; workers++) {
          int k = ps;
          int n = workers;
          ask(
              Suite.CLUSTER,
              "null step " + what + ", ps x workers " + k + " x " + n,
              () -> TensorFlowCluster.nullStep(what, k, n),
              () -> MillraceCluster.nullStep(what, k, n));
        }
      }
    }
  }

  /** Files of training data. The first call has Python write them in all formats. */
  private Path input() {
    Path own = folder.resolve("input");
    if (!Files.exists(own)) {
      try {
        InputReading.write(Files.createDirectories(own));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return own;
  }

  private Path serving() {
    try {
      return Files.createDirectories(folder.resolve("serving"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A contender that writes in a folder of its own. */
  private Contender in(String name, Class<? extends ContenderProcess.Maker> maker) {
    try {
      Path own = Files.createDirectories(folder.resolve(name));
      return ContenderProcess.start(maker, List.of(own.toString()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Asks the questions of the suites, or whose names contain one of the arguments; else all. */
  public static void main(String[] args) throws IOException {
    run(List.of(args), Config.ofProcess());
  }

  /** The same with settings that need not be this process's own, for the command line. */
  public static void run(List<String> words, Config config) throws IOException {
    Match match =
        new Match(config.get(TestSettings.BENCH_ROUNDS), config.get(TestSettings.BENCH_SECONDS));
    Path folder = Files.createTempDirectory("millrace-bench-");
    Benchmarks all = new Benchmarks(folder, config.get(TestSettings.BENCH_PEERS));
    try {
      all.check(words);
      if (config.get(TestSettings.BENCH_LIST)) {
        all.list(words);
        return;
      }
      all.run(match, words);
    } finally {
      try (Stream<Path> files = Files.walk(folder)) {
        for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(file);
        }
      }
    }
    Optional<Path> json = config.find(TestSettings.BENCH_JSON);
    if (json.isPresent()) {
      all.report.writeTo(json.get());
    }
  }

  private void check(List<String> words) {
    for (String word : words) {
      if (questions.stream().noneMatch(q -> q.isMeant(List.of(word)))
          && allReduces(List.of(word)).sizes().isEmpty()
          && jobs(List.of(word)).isEmpty()) {
        throw MillraceException.invalid(
            "No question has '%s' in its name, and no suite is called so: %s.",
            word, List.of(Suite.values()));
      }
    }
  }

  /** Names the questions that would be asked, under their suites. */
  private void list(List<String> words) {
    for (Suite suite : Suite.values()) {
      List<String> names =
          suite == Suite.ALLREDUCE
              ? allReduces(words).questions()
              : suite == Suite.JOBS
                  ? jobs(words)
                  : questions.stream()
                      .filter(q -> q.suite == suite && q.isMeant(words))
                      .map(Question::name)
                      .toList();
      if (!names.isEmpty()) {
        System.out.println(suite);
        names.forEach(n -> System.out.println("  " + n));
      }
    }
  }

  private void run(Match match, List<String> words) throws IOException {
    for (Question question : questions) {
      if (question.isMeant(words)) {
        try {
          report.add(question.name, answer(match, question.contenders));
        } catch (RuntimeException e) {
          // Peers fail now and then: TensorFlow's servers take two of 100,000 steps for one.
          report.absent("No answer to '" + question.name + "': " + e.getMessage());
        }
      }
    }
    AllReduceBenchmark.Settings allReduces = allReduces(words);
    if (!allReduces.sizes().isEmpty()) {
      AllReduceBenchmark.run(report, allReduces.withRounds(match.rounds()));
    }
    if (!jobs(words).isEmpty()) {
      jobs(jobs(words), match);
    }
  }

  /** The questions about whole jobs that {@code words} name. */
  private static List<String> jobs(List<String> words) {
    return Stream.concat(Stream.of(StartupBenchmark.QUESTION), ClickBenchmark.QUESTIONS.stream())
        .filter(q -> isMeant(Suite.JOBS, q, words))
        .toList();
  }

  /** Starts the command of the source tree, as a user does. */
  private void jobs(List<String> wanted, Match match) throws IOException {
    String home = Config.ofProcess().get(CommandSettings.HOME);
    if (home.isEmpty()) {
      report.absent("Whole jobs are started from a source tree: run ./millrace bench.");
      return;
    }
    if (wanted.contains(StartupBenchmark.QUESTION)) {
      StartupBenchmark.run(report, Path.of(home), match.rounds(), atLeast(START, match));
    }
    List<String> clicks = ClickBenchmark.QUESTIONS.stream().filter(wanted::contains).toList();
    if (!clicks.isEmpty()) {
      ClickBenchmark.run(report, Path.of(home), clicks, match.rounds(), atLeast(JOB, match));
    }
  }

  private static Duration atLeast(Duration least, Match match) {
    return match.turn().compareTo(least) > 0 ? match.turn() : least;
  }

  private static boolean isSuite(String word) {
    return Stream.of(Suite.values()).anyMatch(s -> s.toString().equals(word));
  }

  /** Contenders that cannot take part, for want of a library perhaps, are left out and named. */
  private List<Match.Result> answer(Match match, List<Supplier<Contender>> suppliers) {
    List<Contender> contenders = new ArrayList<>();
    try {
      for (Supplier<Contender> supplier : suppliers) {
        try {
          contenders.add(supplier.get());
        } catch (MillraceException e) {
          report.absent(e.getMessage());
        }
      }
      return match.play(contenders);
    } finally {
      contenders.forEach(Contender::close);
    }
  }

  /** Nulls do not take part. */
  @SafeVarargs
  @SuppressWarnings("varargs")
  private void ask(Suite suite, String question, Supplier<Contender>... contenders) {
    questions.add(
        new Question(suite, question, Stream.of(contenders).filter(Objects::nonNull).toList()));
  }

  private Contender millrace(List<String> options, Model model, int threads, String... data) {
    List<String> all = new ArrayList<>(SMALL_HEAP);
    all.addAll(options);
    return ContenderProcess.start(
        all, MillraceLocal.Training.class, arguments(model, threads, data));
  }

  private Contender local(
      Class<? extends ContenderProcess.Maker> maker, Model model, int threads, String... data) {
    return ContenderProcess.start(maker, arguments(model, threads, data));
  }

  private List<String> arguments(Model model, int threads, String... data) {
    List<String> all = new ArrayList<>(List.of(graph(spec(model)).toString()));
    all.add(Integer.toString(threads));
    all.addAll(List.of(data));
    return all;
  }

  private List<Path> cluster(Model model, int workers) {
    List<Path> files = new ArrayList<>();
    for (int i = 0; i < workers; i++) {
      files.add(graph(spec(model).onCluster(1, i)));
    }
    return files;
  }

  /** The file of a graph. The first call has Python write all there are. */
  private Path graph(TrainingSpec wanted) {
    if (graphs.isEmpty()) {
      List<TrainingSpec> specs = new ArrayList<>();
      for (Model model : MODELS) {
        specs.add(spec(model));
        specs.add(spec(model).onCluster(1, 0));
        specs.add(spec(model).onCluster(1, 1));
      }
      for (TrainingGraph graph : TrainingGraph.of(PythonTensorFlow.find(), specs)) {
        graphs.put(graph.spec(), graph.writeTo(folder));
      }
    }
    return graphs.get(wanted);
  }

  private static TrainingSpec spec(Model model) {
    return TrainingSpec.local(model, Optimizer.SGD, Variables.REF, BATCH);
  }

  private static String lower(Model model) {
    return model.name().toLowerCase(java.util.Locale.ROOT);
  }
}
