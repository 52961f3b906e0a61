import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.Locale;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Trains with DL4J for the benchmarks: arguments are the model and the number of threads. Answers
 * with its name, then to each line of milliseconds with steps/s, median and p99 in microseconds,
 * and the most memory it has had.
 */
public final class Dl4jTraining {
  private static final int BATCH = 100;

  public static void main(String[] args) throws Exception {
    MultiLayerNetwork network = new MultiLayerNetwork(configuration(args[0]));
    network.init();
    INDArray labels = Nd4j.zeros(BATCH, 10);
    for (int i = 0; i < BATCH; i++) {
      labels.putScalar(i, i % 10, 1);
    }
    DataSet batch = new DataSet(Nd4j.rand(BATCH, 784), labels);
    System.out.println(
        "@ DL4J 1.0.0-M2.1, " + args[1] + (args[1].equals("1") ? " thread" : " threads"));
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      System.out.println("@ " + run(network, batch, Long.parseLong(line)));
    }
    Runtime.getRuntime().halt(0);
  }

  private static MultiLayerConfiguration configuration(String model) {
    NeuralNetConfiguration.ListBuilder layers =
        new NeuralNetConfiguration.Builder().seed(1).updater(new Sgd(.01)).list();
    switch (model) {
      case "mlp" -> layers.layer(dense(512)).layer(dense(512));
      case "cnn" ->
          layers
              .layer(convolution(32))
              .layer(pooling())
              .layer(convolution(64))
              .layer(pooling())
              .layer(dense(1024));
      default -> {}
    }
    layers.layer(
        new OutputLayer.Builder(LossFunction.MCXENT)
            .nOut(10)
            .activation(Activation.SOFTMAX)
            .build());
    layers.setInputType(
        model.equals("cnn") ? InputType.convolutionalFlat(28, 28, 1) : InputType.feedForward(784));
    return layers.build();
  }

  private static DenseLayer dense(int units) {
    return new DenseLayer.Builder().nOut(units).activation(Activation.RELU).build();
  }

  private static ConvolutionLayer convolution(int filters) {
    return new ConvolutionLayer.Builder(5, 5)
        .nOut(filters)
        .padding(2, 2)
        .activation(Activation.RELU)
        .build();
  }

  private static SubsamplingLayer pooling() {
    return new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX)
        .kernelSize(2, 2)
        .stride(2, 2)
        .build();
  }

  private static String run(MultiLayerNetwork network, DataSet batch, long millis) {
    long[] nanos = new long[1 << 20];
    int n = 0;
    long start = System.nanoTime();
    long now = start;
    do {
      network.fit(batch);
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
