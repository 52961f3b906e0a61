import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Blocks;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.convolutional.Conv2d;
import ai.djl.nn.core.Linear;
import ai.djl.nn.pooling.Pool;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.Locale;

/**
 * Trains with DJL on PyTorch for the benchmarks: arguments are the model and the number of threads.
 * Answers with its name, then to each line of milliseconds with steps/s, median and p99 in
 * microseconds, and the most memory it has had.
 */
public final class DjlTraining {
  private static final int BATCH = 100;

  public static void main(String[] args) throws Exception {
    System.setProperty("ai.djl.pytorch.num_threads", args[1]);
    System.setProperty("ai.djl.pytorch.num_interop_threads", "1");
    Loss loss = Loss.softmaxCrossEntropyLoss();
    DefaultTrainingConfig config =
        new DefaultTrainingConfig(loss)
            .optOptimizer(Optimizer.sgd().setLearningRateTracker(Tracker.fixed(.01f)).build());
    try (Model model = Model.newInstance("peer")) {
      model.setBlock(block(args[0]));
      Trainer trainer = model.newTrainer(config);
      Shape shape = args[0].equals("cnn") ? new Shape(BATCH, 1, 28, 28) : new Shape(BATCH, 784);
      trainer.initialize(shape);
      NDManager manager = trainer.getManager();
      NDArray x = manager.randomUniform(0, 1, shape);
      NDArray y = manager.arange(BATCH).mod(10);
      System.out.println(
          "@ DJL, PyTorch "
              + Engine.getInstance().getVersion()
              + ", "
              + args[1]
              + (args[1].equals("1") ? " thread" : " threads"));
      BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        System.out.println("@ " + run(trainer, loss, x, y, Long.parseLong(line)));
      }
      Runtime.getRuntime().halt(0);
    }
  }

  private static SequentialBlock block(String model) {
    SequentialBlock block = new SequentialBlock();
    switch (model) {
      case "mlp" ->
          block.add(linear(512)).add(Activation::relu).add(linear(512)).add(Activation::relu);
      case "cnn" ->
          block
              .add(convolution(32))
              .add(Activation::relu)
              .add(Pool.maxPool2dBlock(new Shape(2, 2), new Shape(2, 2)))
              .add(convolution(64))
              .add(Activation::relu)
              .add(Pool.maxPool2dBlock(new Shape(2, 2), new Shape(2, 2)))
              .add(Blocks.batchFlattenBlock())
              .add(linear(1024))
              .add(Activation::relu);
      default -> {}
    }
    return block.add(linear(10));
  }

  private static Linear linear(int units) {
    return Linear.builder().setUnits(units).build();
  }

  private static Conv2d convolution(int filters) {
    return Conv2d.builder()
        .setKernelShape(new Shape(5, 5))
        .optPadding(new Shape(2, 2))
        .setFilters(filters)
        .build();
  }

  private static void step(Trainer trainer, Loss loss, NDArray x, NDArray y) {
    try (NDManager scope = trainer.getManager().newSubManager();
        GradientCollector collector = trainer.newGradientCollector()) {
      NDList predictions = trainer.forward(new NDList(x));
      predictions.attach(scope);
      NDArray value = loss.evaluate(new NDList(y), predictions);
      value.attach(scope);
      collector.backward(value);
    }
    trainer.step();
  }

  private static String run(Trainer trainer, Loss loss, NDArray x, NDArray y, long millis) {
    long[] nanos = new long[1 << 20];
    int n = 0;
    long start = System.nanoTime();
    long now = start;
    do {
      step(trainer, loss, x, y);
      long then = System.nanoTime();
      nanos[n++ % nanos.length] = then - now;
      now = then;
    } while (now - start < millis * 1_000_000);
    int kept = Math.min(n, nanos.length);
    Arrays.sort(nanos, 0, kept);
    return String.format(
        Locale.ROOT,
        "%s %s %s %d",
        n * 1e9 / (now - start),
        nanos[kept / 2] / 1e3,
        nanos[kept * 99 / 100] / 1e3,
        peak());
  }

  private static long peak() {
    try {
      for (String line :
          java.nio.file.Files.readAllLines(java.nio.file.Path.of("/proc/self/status"))) {
        if (line.startsWith("VmHWM:")) {
          return 1024 * Long.parseLong(line.replaceAll("\\D", ""));
        }
      }
    } catch (java.io.IOException e) {
      // Not Linux.
    }
    return 0;
  }
}
