package dev.millrace.collective;

import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * An operation this rank has submitted: its tensors, which it holds until it is over, and where the
 * result goes.
 *
 * @param request what was submitted
 * @param given what this rank was given to contribute, in the order of the request's shapes
 * @param tensors the same, held until it is over: what was given may be closed meanwhile
 * @param inPlace whether results overwrite the tensors
 * @param pass where the tensors of a sequence come in, which it has none of at first; else null
 * @param result completed with what {@link Runner} makes of it
 */
record Operation(
    Request request,
    List<Tensor> given,
    List<Tensor> tensors,
    boolean inPlace,
    SequencePass pass,
    CompletableFuture<Object> result) {
  static Operation of(
      Request request,
      List<Tensor> given,
      boolean inPlace,
      SequencePass pass,
      CompletableFuture<Object> result) {
    List<Tensor> held = List.of(Refs.retainAll(given.toArray(new Tensor[0])));
    return new Operation(request, given, held, inPlace, pass, result);
  }

  void complete(Object value) {
    Refs.releaseAll(tensors);
    result.complete(value);
  }

  void fail(Throwable cause) {
    Refs.releaseAll(tensors);
    if (pass != null) {
      pass.fail(cause);
    }
    result.completeExceptionally(cause);
  }
}
