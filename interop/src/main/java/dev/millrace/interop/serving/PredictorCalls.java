package dev.millrace.interop.serving;

import dev.millrace.interop.bench.Contender;
import dev.millrace.interop.bench.ContenderProcess;
import dev.millrace.interop.bench.Sample;
import dev.millrace.serving.Predictor;
import dev.millrace.serving.model.ModelSignature;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * Predicts single rows, one after the other, on one thread. Arguments: the folder of the model, and
 * {@code tensors} or {@code values} for what a call is given.
 */
public final class PredictorCalls implements ContenderProcess.Maker {
  @Override
  public Contender make(List<String> arguments) {
    boolean tensors = arguments.get(1).equals("tensors");
    Predictor predictor = Predictor.load(Path.of(arguments.get(0)));
    ModelSignature signature = predictor.signature("");
    Tensor[] row = ClickExport.row(signature);
    Map<String, Object> values = ClickExport.values();
    Runnable call =
        tensors
            ? () -> predictor.run(signature, row)[0].close()
            : () -> predictor.predictRow(values).close();
    return new Contender() {
      @Override
      public String name() {
        return "Millrace Predictor, " + arguments.get(1);
      }

      @Override
      public Sample run(Duration duration) {
        return Sample.of(call, duration);
      }

      @Override
      public void close() {
        predictor.close();
      }
    };
  }
}
