package dev.millrace.train.hook;

import dev.millrace.graph.Output;
import dev.millrace.runtime.trace.StepTrace;
import dev.millrace.tensor.Tensor;
import java.util.Map;

/** What a step gave to the hooks. */
public final class SessionRunValues {
  private final Map<Output, Tensor> values;
  private final StepTrace trace;

  public SessionRunValues(Map<Output, Tensor> values, StepTrace trace) {
    this.values = values;
    this.trace = trace;
  }

  /** The value of an output the hook asked for; borrowed. */
  public Tensor value(Output fetch) {
    Tensor t = values.get(fetch);
    if (t == null) {
      throw new IllegalArgumentException("'" + fetch.name() + "' was not fetched in this step");
    }
    return t;
  }

  /** What ran when; null unless a hook asked for it. */
  public StepTrace trace() {
    return trace;
  }
}
