package dev.millrace.interop.bench;

import dev.millrace.base.MillraceException;
import dev.millrace.interop.PythonTensorFlow;
import dev.millrace.interop.TrainingGraph;
import dev.millrace.interop.TrainingSpec;
import dev.millrace.interop.TrainingSpec.Model;
import dev.millrace.interop.TrainingSpec.Optimizer;
import dev.millrace.interop.TrainingSpec.Variables;
import dev.millrace.interop.ring.DataParallel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The questions that are asked, and who answers them. Run it with the names of questions, or parts
 * of them, to ask only those; {@code -Dbench.rounds} and {@code -Dbench.seconds} say how often and
 * how long.
 */
public final class Benchmarks {
  private static final int BATCH = 100;
  private static final List<Model> MODELS = List.of(Model.SOFTMAX, Model.MLP, Model.CNN);

  /** Tensors are not on the heap, so that a small one will do. */
  private static final List<String> SMALL_HEAP = List.of("-XX:+UseSerialGC", "-Xmx128m");

  /** Questions by name, each with the contenders that answer it. */
  private final Map<String, List<Supplier<Contender>>> questions = new LinkedHashMap<>();

  private final Map<TrainingSpec, Path> graphs =
      new TreeMap<>((a, b) -> a.toString().compareTo(b.toString()));
  private final Path folder;

  private Benchmarks(Path folder) {
    this.folder = folder;
    for (Model model : MODELS) {
      for (int threads = 1; threads <= 2; threads++) {
        String n = Integer.toString(threads);
        ask(
            "local " + lower(model) + " " + n,
            () -> local(TensorFlowLocal.Training.class, model, n),
            () -> millrace(List.of(), model, n),
            model == Model.CNN ? null : () -> local(HandWritten.Training.class, model, n));
        ask(
            "pure java " + lower(model) + " " + n,
            () -> local(TensorFlowLocal.Training.class, model, n),
            () -> millrace(List.of("-Dmillrace.native=false"), model, n));
      }
    }
    ask(
        "local empty step",
        () -> ContenderProcess.start(TensorFlowLocal.Empty.class, List.of("1")),
        () -> ContenderProcess.start(SMALL_HEAP, MillraceLocal.Empty.class, List.of("1")));
    for (Model model : MODELS) {
      for (int workers = 1; workers <= 2; workers++) {
        int n = workers;
        ask(
            "1 ps " + n + (n == 1 ? " worker " : " workers ") + lower(model),
            () -> TensorFlowCluster.training(cluster(model, n)),
            () -> MillraceCluster.training(cluster(model, n)));
      }
    }
    for (String network : List.of("mlp", "cnn")) {
      ask(
          "data parallel " + network,
          () -> DataParallel.pyTorch(network),
          () -> DataParallel.millrace(network));
    }
    ask("scalar from ps", () -> TensorFlowCluster.read(1), () -> MillraceCluster.read(1));
    questions.put(
        "64 MiB from ps",
        List.of(
            () -> TensorFlowCluster.read(16 << 20),
            () -> MillraceCluster.read(16 << 20),
            () -> MillraceCluster.readByRecvTensor(16 << 20)));
    ask(
        "client, step on the worker",
        () -> TensorFlowCluster.client(false),
        () -> MillraceCluster.client(false));
    ask(
        "client, scalar of the ps",
        () -> TensorFlowCluster.client(true),
        () -> MillraceCluster.client(true));
    for (NullStep what : NullStep.values()) {
      for (int ps = 1; ps <= 2; ps++) {
        for (int workers = 1; workers <= 2; workers++) {
          int k = ps;
          int n = workers;
          ask(
              "null step " + what + ", ps x workers " + k + " x " + n,
              () -> TensorFlowCluster.nullStep(what, k, n),
              () -> MillraceCluster.nullStep(what, k, n));
        }
      }
    }
  }

  /** Asks the questions whose names contain one of the arguments; all without any. */
  public static void main(String[] args) throws IOException {
    Match match =
        new Match(
            Integer.getInteger("bench.rounds", 5),
            Duration.ofMillis(
                (long) (1000 * Double.parseDouble(System.getProperty("bench.seconds", "2")))));
    Path folder = Files.createTempDirectory("millrace-bench-");
    Benchmarks all = new Benchmarks(folder);
    try {
      for (var question : all.questions.entrySet()) {
        if (args.length == 0 || List.of(args).stream().anyMatch(question.getKey()::contains)) {
          List<Match.Result> results = answer(match, question.getValue());
          if (!results.isEmpty()) {
            Match.print(System.out, question.getKey(), results);
          }
        }
      }
    } finally {
      for (Path file : all.graphs.values()) {
        Files.delete(file);
      }
      Files.delete(folder);
    }
  }

  /** Contenders that cannot take part, for want of an op perhaps, are left out and named. */
  private static List<Match.Result> answer(Match match, List<Supplier<Contender>> suppliers) {
    List<Contender> contenders = new ArrayList<>();
    try {
      for (Supplier<Contender> supplier : suppliers) {
        try {
          contenders.add(supplier.get());
        } catch (MillraceException e) {
          System.out.println("Left out: " + e.getMessage());
        }
      }
      return match.play(contenders);
    } finally {
      contenders.forEach(Contender::close);
    }
  }

  /** The first is who the others are compared with; nulls do not take part. */
  @SafeVarargs
  @SuppressWarnings("varargs")
  private void ask(String question, Supplier<Contender>... contenders) {
    questions.put(question, Stream.of(contenders).filter(Objects::nonNull).toList());
  }

  private Contender millrace(List<String> options, Model model, String threads) {
    List<String> all = new ArrayList<>(SMALL_HEAP);
    all.addAll(options);
    return ContenderProcess.start(
        all, MillraceLocal.Training.class, List.of(graph(spec(model)).toString(), threads));
  }

  private Contender local(
      Class<? extends ContenderProcess.Maker> maker, Model model, String threads) {
    return ContenderProcess.start(maker, List.of(graph(spec(model)).toString(), threads));
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
