package dev.millrace.collective;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * Tensors that are reduced in every step, always in the same order, in buckets: the gradients of a
 * model, as the backward pass yields them. The ranks agree once per pass, when the first tensor
 * comes, that the whole sequence is to be run; from then on nothing is negotiated, and each bucket
 * is reduced as soon as its tensors are there. So all of them must be submitted in every pass, and
 * none may depend on another operation of the ring that is submitted after the first.
 *
 * <p>Threading: any thread.
 */
public final class ReductionSequence {
  private final List<String> names;
  private final Request request;
  private final Consumer<SequencePass> submit;
  private final Communicator ranks;

  /** The pass that tensors come in for; null between passes. Guarded by this. */
  private SequencePass current;

  ReductionSequence(
      List<String> names, Request request, Consumer<SequencePass> submit, Communicator ranks) {
    this.names = List.copyOf(names);
    this.request = request;
    this.submit = submit;
    this.ranks = ranks;
    if (names.size() != request.shapes().size() || names.isEmpty()) {
      throw MillraceException.invalid(
          "A sequence of %d names needs as many shapes, at least one; %d were given.",
          names.size(), request.shapes().size());
    }
  }

  /**
   * A tensor of the sequence's type and of undefined contents in memory where it can be reduced
   * without a copy, with one counted reference; null where any memory is as good.
   */
  public Tensor room(Shape shape) {
    return ranks.allocateInPlace(request.dtype(), shape);
  }

  /**
   * Submits tensor {@code index} of a pass, the next one if all of the last have been submitted.
   * The future completes on the ring's thread with the reduction, which belongs to the caller, or
   * with what went wrong. The tensor must not be written to until then.
   */
  public CompletableFuture<Tensor> reduceAsync(int index, Tensor tensor) {
    return reduceAsync(index, tensor, false);
  }

  /**
   * The same of a tensor that nobody reads afterwards: its memory may be that of the result. One
   * that was made by {@link #room} is then never copied.
   */
  public CompletableFuture<Tensor> reduceAsync(int index, Tensor tensor, boolean overwrite) {
    Shape shape = request.shapes().get(index);
    if (tensor.dtype() != request.dtype() || !tensor.shape().equals(shape)) {
      throw MillraceException.invalid(
          "Rank %d submitted %s%s as '%s' of the sequence '%s', which is %s%s.",
          ranks.rank(),
          tensor.dtype().label(),
          tensor.shape(),
          names.get(index),
          request.name(),
          request.dtype().label(),
          shape);
    }
    SequencePass pass;
    boolean first;
    CompletableFuture<Tensor> result;
    synchronized (this) {
      first = current == null;
      if (first) {
        current = new SequencePass(names, ranks.timers());
      }
      pass = current;
      result = pass.put(index, tensor, overwrite);
      if (pass.isComplete()) {
        current = null;
      }
    }
    if (first) {
      submit.accept(pass);
    }
    return result;
  }
}
