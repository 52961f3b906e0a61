package com.acme.extension;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.math.Reduction;
import dev.millrace.ops.math.Unary;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.SessionOptions;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.Arrays;

/** Trains one step with everything that this project adds, and says what came of it. */
public final class Example {
  private Example() {}

  public static void main(String[] args) {
    System.out.println(run(Example.class.getClassLoader()));
  }

  /** The same; {@code loader} finds this project's services. */
  public static String run(ClassLoader loader) {
    Scope scope = Scope.of(new Graph(StandardOps.registry(loader)));
    GraphVariable weights = VariableScope.of(scope).variable("weights", Shape.of(3), new Ramp());
    Output loss = Reduction.sumAll(scope, AcmeOps.cube(scope, weights.read()));
    Node train = new FixedStep().minimize(scope, loss, GlobalStep.of(scope));
    Output squares = Unary.square(scope.withDevice("/device:ARRAY:0"), weights.read());
    Node initialize = Variables.initializer(scope);
    CountingStore store = new CountingStore();
    SessionOptions options = SessionOptions.DEFAULT.withStore(store).withDevice(new ArrayDevice());
    try (Session session = new LocalSession(scope.graph(), options)) {
      session.run(initialize);
      session.run(train);
      try (Tensor values = session.fetch(weights.read());
          Tensor squared = session.fetch(squares)) {
        return "weights %s, squared on ARRAY %s, %d squares there, %d commits"
            .formatted(
                Arrays.toString(values.toFloats()),
                Arrays.toString(squared.toFloats()),
                ArrayDevice.SQUARES.get(),
                store.commits());
      }
    }
  }
}
