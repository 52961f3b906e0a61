package dev.millrace.interop.bench;

import dev.millrace.interop.PreparedStep;
import dev.millrace.interop.RealTensorFlow;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** TensorFlow's C++ runtime running one step again and again with the same feeds. */
final class TensorFlowSteps implements Contender {
  private final String name;
  private final RealTensorFlow tensorFlow;
  private final PreparedStep step;

  TensorFlowSteps(
      String name,
      RealTensorFlow tensorFlow,
      Map<String, Tensor> feeds,
      List<String> fetches,
      List<String> targets) {
    this.name = name;
    this.tensorFlow = tensorFlow;
    List<String> names = List.copyOf(feeds.keySet());
    this.step = tensorFlow.prepare(names, fetches, targets);
    step.bind(names.stream().map(feeds::get).toList());
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Sample run(Duration duration) {
    return Sample.of(step::run, duration);
  }

  @Override
  public void close() {
    step.close();
    tensorFlow.close();
  }

  /** The name and version, such as {@code TensorFlow 2.18}. */
  static String tensorFlow() {
    String version = RealTensorFlow.version();
    return "TensorFlow " + version.substring(0, version.lastIndexOf('.'));
  }
}
