package dev.millrace.interop.bench;

import dev.millrace.interop.PythonTensorFlow;
import dev.millrace.interop.TrainingGraph;
import dev.millrace.interop.TrainingSpec;
import dev.millrace.interop.TrainingSpec.Model;
import dev.millrace.interop.TrainingSpec.Optimizer;
import dev.millrace.interop.TrainingSpec.Variables;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * The questions that are asked, and who answers them. Run it with the names of questions, or parts
 * of them, to ask only those; {@code -Dbench.rounds} and {@code -Dbench.seconds} say how often and
 * how long.
 */
public final class Benchmarks {
  private static final int BATCH = 100;
  private static final List<Model> MODELS = List.of(Model.SOFTMAX, Model.MLP, Model.CNN);

  /** Questions by name, each with the contenders that answer it. */
  private final Map<String, List<Supplier<Contender>>> questions = new LinkedHashMap<>();

  private final Map<TrainingSpec, Path> graphs =
      new TreeMap<>((a, b) -> a.toString().compareTo(b.toString()));
  private final Path folder;

  private Benchmarks(Path folder) {
    this.folder = folder;
    for (Model model : MODELS) {
      for (int threads = 1; threads <= 2; threads++) {
        List<String> settings = List.of(Integer.toString(threads));
        ask(
            "local " + lower(model) + ", threads " + threads,
            List.of(() -> local(model, settings)));
      }
    }
    ask(
        "local empty step",
        List.of(() -> ContenderProcess.start(TensorFlowLocal.Empty.class, List.of("1"))));
    for (Model model : MODELS) {
      ask("1 ps 1 worker " + lower(model), List.of(() -> cluster(model, 1)));
      ask("1 ps 2 workers " + lower(model), List.of(() -> cluster(model, 2)));
    }
    ask("scalar from ps", List.of(() -> TensorFlowCluster.read(1)));
    ask("64 MiB from ps", List.of(() -> TensorFlowCluster.read(16 << 20)));
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
          Match.print(System.out, question.getKey(), all.answer(match, question.getValue()));
        }
      }
    } finally {
      for (Path file : all.graphs.values()) {
        Files.delete(file);
      }
      Files.delete(folder);
    }
  }

  private List<Match.Result> answer(Match match, List<Supplier<Contender>> suppliers) {
    List<Contender> contenders = new ArrayList<>();
    try {
      suppliers.forEach(supplier -> contenders.add(supplier.get()));
      return match.play(contenders);
    } finally {
      contenders.forEach(Contender::close);
    }
  }

  private void ask(String question, List<Supplier<Contender>> contenders) {
    questions.put(question, contenders);
  }

  private Contender local(Model model, List<String> settings) {
    List<String> arguments = new ArrayList<>(List.of(graph(spec(model)).toString()));
    arguments.addAll(settings);
    return ContenderProcess.start(TensorFlowLocal.Training.class, arguments);
  }

  private Contender cluster(Model model, int workers) {
    List<Path> files = new ArrayList<>();
    for (int i = 0; i < workers; i++) {
      files.add(graph(spec(model).onCluster(1, i)));
    }
    return TensorFlowCluster.training(1, files);
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
