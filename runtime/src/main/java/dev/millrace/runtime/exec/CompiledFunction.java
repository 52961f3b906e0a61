package dev.millrace.runtime.exec;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import dev.millrace.graph.AttrValue;
import dev.millrace.graph.FunctionGraph;
import dev.millrace.graph.Procedure;
import dev.millrace.graph.resource.Resources;
import dev.millrace.runtime.plan.Simplifier;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A function's body, compiled on the first call. Each call is a separate step on the calling
 * thread, with a separate rendezvous.
 *
 * <p>Threading: any thread that may wait.
 */
final class CompiledFunction implements Procedure {
  /** Negative, so that they never equal the step ids of sessions. */
  private static final AtomicLong STEP_IDS = new AtomicLong(-1);

  private final String name;
  private final FunctionGraph body;
  private final Resources resources;

  /** Guarded by this. */
  private CompiledGraph compiled;

  private CompiledFunction(String name, FunctionGraph body, Resources resources) {
    this.name = name;
    this.body = body;
    this.resources = resources;
  }

  static CompiledFunction of(AttrValue.Func function, Resources resources) {
    if (function.body() == null) {
      throw new MillraceException(
          Code.NOT_FOUND,
          "Function '" + function.name() + "' is not in the library of the graph it is called in.");
    }
    return new CompiledFunction(function.name(), function.body(), resources);
  }

  @Override
  public Procedure fresh() {
    return new CompiledFunction(name, body, resources);
  }

  @Override
  public List<DType> arguments() {
    return body.arguments();
  }

  @Override
  public List<DType> results() {
    return body.results();
  }

  private synchronized CompiledGraph compiled() {
    if (compiled == null) {
      compiled = new CompiledGraph(Simplifier.simplify(body.graph(), Set.of()));
    }
    return compiled;
  }

  @Override
  public Tensor[] call(List<Tensor> arguments, Cancellation cancellation) {
    check(arguments);
    CompiledGraph graph = compiled();
    Step step =
        new Step(
            STEP_IDS.getAndDecrement(),
            new LocalRendezvous(),
            cancellation.withSameLease(),
            arguments.toArray(new Tensor[0]),
            body.results().size(),
            null,
            null,
            Context.current().timers());
    try (Cancellation.Registration _ =
        cancellation.onCancel(() -> step.fail(cancellation.cause()))) {
      if (!step.hasFailed()) {
        StepRun.run(graph, step, resources);
        step.commit(resources.store());
      }
    }
    return step.completeResults(i -> "Result %d of function '%s'".formatted(i, name));
  }

  private void check(List<Tensor> arguments) {
    List<DType> wanted = body.arguments();
    List<DType> given = arguments.stream().map(Tensor::dtype).toList();
    if (!given.equals(wanted)) {
      throw MillraceException.invalid(
          "Function '%s' takes %s; it was given %s.", name, wanted, given);
    }
  }
}
