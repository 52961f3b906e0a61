package dev.millrace.interop.bench;

import dev.millrace.examples.mnist.MnistData;
import dev.millrace.examples.mnist.MnistModel;
import dev.millrace.examples.mnist.Network;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.hook.NanTensorHook;
import dev.millrace.train.optimizer.Adam;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.sync.StalenessHook;
import dev.millrace.train.variable.Variables;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Steps of the multilayer perceptron in a plain session, and in a training session that logs,
 * watches the loss, measures staleness, summarises every 100 steps and saves every 10 seconds.
 */
public final class HookedTraining {
  private static final int BATCH = 100;

  private HookedTraining() {}

  private static MnistModel model() {
    Scope scope = Scope.of(StandardOps.newGraph());
    return MnistModel.build(
        scope,
        Network.MLP,
        (s, loss, step) -> new Adam(1e-3f, Adam.Settings.DEFAULT).minimize(s, loss, step));
  }

  private static Map<Output, Tensor> batch(MnistModel model) {
    Tensor images = Tensor.allocate(DType.FLOAT, Shape.of(BATCH, MnistData.PIXELS));
    Tensor labels = Tensor.allocate(DType.INT64, Shape.of(BATCH));
    for (int i = 0; i < images.elements(); i++) {
      images.setDouble(i, i % 251 / 251.0);
    }
    for (int i = 0; i < BATCH; i++) {
      labels.setLong(i, i % MnistData.CLASSES);
    }
    return Map.of(model.images(), images, model.labels(), labels);
  }

  /** Without any hook. */
  public static final class Plain implements ContenderProcess.Maker {
    @Override
    public Contender make(List<String> arguments) {
      MnistModel model = model();
      Session session = new LocalSession(model.graph());
      session.run(Variables.initializer(model.scope()));
      Map<Output, Tensor> batch = batch(model);
      return new Steps(
          "plain session",
          d -> session.run(batch, List.of(model.loss()), List.of(model.train())).forEach(d),
          session);
    }
  }

  /** With all of them. Argument: the folder to save in. */
  public static final class Hooked implements ContenderProcess.Maker {
    @Override
    public Contender make(List<String> arguments) {
      MnistModel model = model();
      Map<Output, Tensor> batch = batch(model);
      TrainingSettings settings =
          TrainingSettings.DEFAULT
              .withFolder(Path.of(arguments.getFirst()))
              .withTaskName("worker/0")
              .withSaveEvery(Duration.ofSeconds(10))
              .withSummariesEverySteps(100)
              .withHooks(new NanTensorHook(model.loss()), new StalenessHook(model.globalStep()));
      MonitoredTrainingSession session =
          MonitoredTrainingSession.start(model.scope(), LocalSession::new, settings);
      return new Steps(
          "with hooks",
          d -> session.run(batch, List.of(model.loss()), List.of(model.train())).forEach(d),
          session);
    }
  }

  /** Makes steps; {@code step} hands what it fetched to its argument. */
  private record Steps(String name, Consumer<Consumer<Tensor>> step, AutoCloseable session)
      implements Contender {
    @Override
    public Sample run(Duration duration) {
      return Sample.of(() -> step.accept(Tensor::close), duration);
    }

    @Override
    public void close() {
      try {
        session.close();
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
