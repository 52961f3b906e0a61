package dev.millrace.interop;

import dev.millrace.base.MillraceException;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NodeDef;
import dev.millrace.proto.TensorShapeProto;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * A training graph as TF1-style Python makes it, with values to train it on that are the same
 * wherever it runs, so that losses can be compared step by step. Whatever the model, the names are
 * the constants here.
 */
public record TrainingGraph(TrainingSpec spec, GraphDef graph) {
  /** The op that initializes all variables from {@link #start}. */
  public static final String INIT = "init";

  /** The scalar loss of a batch. */
  public static final String LOSS = "loss:0";

  /** The op that makes one update. */
  public static final String TRAIN = "train";

  private static final String START = "/start";

  /** Has Python write these graphs, all in one go because its start takes seconds. */
  public static List<TrainingGraph> of(PythonTensorFlow python, List<TrainingSpec> specs) {
    try {
      Path folder = Files.createTempDirectory("millrace-graphs-");
      List<String> arguments = new ArrayList<>(List.of(folder.toString()));
      specs.forEach(spec -> arguments.add(spec.toString()));
      python.run("training_graphs.py", arguments, Duration.ofMinutes(5));
      List<TrainingGraph> graphs = new ArrayList<>();
      for (TrainingSpec spec : specs) {
        graphs.add(read(folder.resolve(spec + ".pb")));
      }
      delete(folder);
      return graphs;
    } catch (IOException e) {
      throw MillraceException.of(e);
    }
  }

  /** Reads a graph from a file that {@link #writeTo} or Python has written. */
  public static TrainingGraph read(Path file) {
    try {
      TrainingSpec spec = TrainingSpec.parse(file.getFileName().toString().replace(".pb", ""));
      return new TrainingGraph(spec, GraphDef.parseFrom(Files.readAllBytes(file)));
    } catch (IOException e) {
      throw MillraceException.of(e);
    }
  }

  /** Writes the graph into a folder and returns the file, which is named after its spec. */
  public Path writeTo(Path folder) {
    try {
      return Files.write(folder.resolve(spec + ".pb"), graph.toByteArray());
    } catch (IOException e) {
      throw MillraceException.of(e);
    }
  }

  /** The feeds of {@link #INIT}: small random weights, zero biases. */
  public Map<String, Tensor> start(long seed) {
    Map<String, Tensor> feeds = new TreeMap<>();
    for (NodeDef node : graph.getNodeList()) {
      if (node.getOp().equals("Placeholder") && node.getName().endsWith(START)) {
        Shape shape = shape(node.getAttrOrThrow("shape").getShape());
        Random random = new Random(seed + node.getName().hashCode());
        float[] values = new float[(int) shape.elements()];
        double scale = Math.sqrt(2.0 * shape.dim(-1) / values.length);
        for (int i = 0; i < values.length && shape.rank() > 1; i++) {
          values[i] = (float) (scale * random.nextGaussian());
        }
        feeds.put(node.getName() + ":0", Tensor.of(shape, values));
      }
    }
    return feeds;
  }

  /** The feeds of a step: what there is to learn from, a different batch for each number. */
  public Map<String, Tensor> batch(long number) {
    return spec.model() == TrainingSpec.Model.EMBEDDING
        ? ids(number)
        : feeds(Digits.images(spec.batch(), number));
  }

  /** The same of pixels none of which is zero. */
  public Map<String, Tensor> noise(long number) {
    return feeds(Digits.noise(spec.batch(), number));
  }

  private static Map<String, Tensor> feeds(Digits digits) {
    Map<String, Tensor> feeds = new LinkedHashMap<>();
    feeds.put("x:0", digits.pixels());
    feeds.put("labels:0", digits.labels());
    return feeds;
  }

  /** Five ids for each label, which follows from the last. */
  private Map<String, Tensor> ids(long seed) {
    int n = spec.batch();
    Random random = new Random(seed);
    long[] ids = new long[n * 5];
    long[] labels = new long[n];
    for (int i = 0; i < ids.length; i++) {
      // Some ids come up more than once in a batch, so that their updates must be added.
      ids[i] = random.nextInt(1 + random.nextInt(1000));
      labels[i / 5] = ids[i] % 10;
    }
    Map<String, Tensor> feeds = new LinkedHashMap<>();
    feeds.put("x:0", Tensor.of(Shape.of(n, 5), ids));
    feeds.put("labels:0", Tensor.vector(labels));
    return feeds;
  }

  /** The spec. */
  @Override
  public String toString() {
    return spec.toString();
  }

  private static Shape shape(TensorShapeProto proto) {
    return Shape.of(proto.getDimList().stream().mapToLong(TensorShapeProto.Dim::getSize).toArray());
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
    Files.delete(folder);
  }
}
