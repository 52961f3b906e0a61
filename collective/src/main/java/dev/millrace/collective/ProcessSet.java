package dev.millrace.collective;

import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Some ranks of a ring that do operations among themselves. Two sets with the same ranks are the
 * same. Ranks are numbered from 0 within the set, in ascending order; names need to differ only
 * within a set.
 */
public final class ProcessSet extends Operations {
  private final Ring ring;
  private final List<Integer> members;

  ProcessSet(Ring ring, List<Integer> members) {
    this.ring = ring;
    this.members = members;
  }

  /** The ranks of the ring that belong to it, ascending. */
  @Override
  public List<Integer> members() {
    return members;
  }

  /** This rank's number in the set, or -1 if it does not belong to it. */
  @Override
  public int rank() {
    return members.indexOf(ring.rank());
  }

  @Override
  public int size() {
    return members.size();
  }

  @Override
  CompletableFuture<Object> submit(Request request, List<Tensor> tensors, boolean inPlace) {
    return ring.submit(request, tensors, inPlace);
  }
}
