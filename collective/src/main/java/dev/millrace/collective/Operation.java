package dev.millrace.collective;

import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * An operation this rank has submitted: its tensors, which it holds until it is over, and where the
 * result goes.
 *
 * @param request what was submitted
 * @param tensors what this rank contributes, in the order of the request's shapes
 * @param inPlace whether results overwrite the tensors
 * @param pass where the tensors of a sequence come in, which it has none of at first; else null
 * @param result completed with what {@link Runner} makes of it
 */
record Operation(
    Request request,
    List<Tensor> tensors,
    boolean inPlace,
    SequencePass pass,
    CompletableFuture<Object> result) {
  Operation {
    tensors.forEach(Tensor::retain);
  }

  void complete(Object value) {
    tensors.forEach(Tensor::release);
    result.complete(value);
  }

  void fail(Throwable cause) {
    tensors.forEach(Tensor::release);
    if (pass != null) {
      pass.fail(cause);
    }
    result.completeExceptionally(cause);
  }
}
