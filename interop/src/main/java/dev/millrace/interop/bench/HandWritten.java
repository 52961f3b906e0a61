package dev.millrace.interop.bench;

import dev.millrace.interop.TrainingGraph;
import dev.millrace.interop.TrainingSpec.Model;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.Parallel;
import dev.millrace.tensor.math.conv.ChannelBias;
import dev.millrace.tensor.math.elementwise.BinaryOp;
import dev.millrace.tensor.math.elementwise.Elementwise;
import dev.millrace.tensor.math.gemm.AddProduct;
import dev.millrace.tensor.math.gemm.Gemm;
import dev.millrace.tensor.math.reduce.Fold;
import dev.millrace.tensor.math.reduce.Softmax;
import dev.millrace.tensor.math.update.GradientDescentRule;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * A training step written by hand over the loops that Millrace's kernels use, without graph,
 * session or executor: what is left when those cost nothing.
 */
public final class HandWritten implements Contender {
  private static final double RATE = 0.05;
  private static final boolean[] BATCH = {true, false};

  /** A dense layer: weights and bias, its output, and the gradient of that. */
  private record Layer(Tensor w, Tensor b, Tensor y, Tensor dy, Tensor db) {
    static Layer of(Tensor w, int batch) {
      long n = w.shape().dim(1);
      return new Layer(
          w,
          Tensor.of(Shape.of(n), new float[(int) n]),
          Tensor.allocate(DType.FLOAT, Shape.of(batch, n)),
          Tensor.allocate(DType.FLOAT, Shape.of(batch, n)),
          Tensor.allocate(DType.FLOAT, Shape.of(n)));
    }
  }

  private final String name;
  private final Tensor x;
  private final Tensor labels;
  private final Layer[] layers;
  private final Tensor losses;
  private final Tensor loss = Tensor.scalar(0f);
  private final Tensor share;

  private HandWritten(String name, Tensor x, Tensor labels, Layer[] layers) {
    this.name = name;
    this.x = x;
    this.labels = labels;
    this.layers = layers;
    this.losses = Tensor.allocate(DType.FLOAT, labels.shape());
    this.share = Tensor.scalar(1f / labels.elements());
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Sample run(Duration duration) {
    return Sample.of(this::step, duration);
  }

  private void step() {
    Tensor in = x;
    for (int i = 0; i < layers.length; i++) {
      Layer l = layers[i];
      multiply(in, false, l.w, false, l.y);
      ChannelBias.add(l.y, l.b, i < layers.length - 1, l.y);
      in = l.y;
    }
    Layer last = layers[layers.length - 1];
    Softmax.sparseCrossEntropy(
        last.y, labels, losses, last.dy, last.y.shape().dim(0), last.y.shape().dim(1));
    Fold.MEAN.run(losses, new boolean[] {true}, loss);
    Elementwise.binary(BinaryOp.MUL, last.dy, share, last.dy);
    for (int i = layers.length - 1; i >= 0; i--) {
      Layer l = layers[i];
      if (i > 0) {
        Layer before = layers[i - 1];
        multiply(l.dy, false, l.w, true, before.dy);
        Elementwise.binary(BinaryOp.RELU_GRAD, before.dy, before.y, before.dy);
      }
      AddProduct.run(i == 0 ? x : layers[i - 1].y, true, l.dy, false, -RATE, l.w);
      Fold.SUM.run(l.dy, BATCH, l.db);
      new GradientDescentRule(RATE).apply(new Tensor[] {l.b}, l.db);
    }
  }

  private static void multiply(Tensor a, boolean ta, Tensor b, boolean tb, Tensor c) {
    int m = (int) c.shape().dim(0);
    int n = (int) c.shape().dim(1);
    int k = (int) a.shape().dim(ta ? 0 : 1);
    Gemm.run(DType.FLOAT, ta, tb, m, n, k, a.data(), b.data(), c.data(), false);
  }

  @Override
  public void close() {}

  /** Training steps. Arguments: see {@link TrainingBatch#of}. */
  public static final class Training implements ContenderProcess.Maker {
    @Override
    public Contender make(List<String> arguments) {
      TrainingGraph graph = TrainingGraph.read(Path.of(arguments.get(0)));
      int threads = Integer.parseInt(arguments.get(1));
      Parallel.setThreads(threads);
      Map<String, Tensor> start = graph.start(1);
      Map<String, Tensor> batch = TrainingBatch.of(graph, arguments);
      List<String> names =
          graph.spec().model() == Model.SOFTMAX ? List.of("out") : List.of("h1", "h2", "out");
      return new HandWritten(
          "by hand, " + threads + (threads == 1 ? " thread" : " threads"),
          batch.get("x:0"),
          batch.get("labels:0"),
          names.stream()
              .map(n -> Layer.of(start.get(n + "/w/start:0"), graph.spec().batch()))
              .toArray(Layer[]::new));
    }
  }
}
