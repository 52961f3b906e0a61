package dev.millrace.ops.dataset;

import dev.millrace.base.Cancellation;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Procedure;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/** A function that a dataset calls for its elements, with the tensors it uses besides. */
final class ElementFunction {
  private final Procedure shared;
  private final List<Tensor> captured;

  private ElementFunction(Procedure shared, List<Tensor> captured) {
    this.shared = shared;
    this.captured = captured;
  }

  /**
   * The function that attribute {@code attr} of the node names. What it uses besides are the {@code
   * count} inputs from {@code first} on, which the dataset keeps.
   */
  static ElementFunction of(
      KernelContext c, DatasetValue owner, String attr, int first, int count) {
    List<Tensor> captured = new ArrayList<>();
    for (int i = first; i < first + count; i++) {
      captured.add(owner.hold(c.input(i)));
    }
    return new ElementFunction(c.procedure(c.node().functionAttr(attr)), captured);
  }

  /** The same for a kernel that is done with it when its step is: it keeps nothing. */
  static ElementFunction of(KernelContext c, String attr, int first, int count) {
    List<Tensor> captured = new ArrayList<>();
    for (int i = first; i < first + count; i++) {
      captured.add(c.input(i));
    }
    return new ElementFunction(c.procedure(c.node().functionAttr(attr)), captured);
  }

  /** The same, of which one iterator has an instance of its own. */
  ElementFunction in(Iteration iteration) {
    return new ElementFunction(iteration.own(shared), captured);
  }

  /** What it makes of an element, which is borrowed. */
  Tensor[] call(Tensor[] element, Cancellation c) {
    List<Tensor> arguments = new ArrayList<>(element.length + captured.size());
    arguments.addAll(List.of(element));
    arguments.addAll(captured);
    return shared.call(arguments, c);
  }

  /** What it makes of an element, which it takes over. */
  Tensor[] apply(Tensor[] element, Cancellation c) {
    try {
      return call(element, c);
    } finally {
      DatasetElements.release(element);
    }
  }

  /** The only result for an element that is borrowed, as true or false. */
  boolean test(Tensor[] element, Cancellation c, String what) {
    Tensor[] results = call(element, c);
    try {
      if (results.length != 1 || results[0].dtype() != DType.BOOL || results[0].elements() != 1) {
        throw MillraceException.invalid("%s must return a scalar bool.", what);
      }
      return results[0].booleanAt(0);
    } finally {
      DatasetElements.release(results);
    }
  }

  /** Whether a function that failed so has only said that there is no more. */
  static boolean isEnd(MillraceException e) {
    return e.code() == Code.OUT_OF_RANGE && !e.isDerived();
  }
}
