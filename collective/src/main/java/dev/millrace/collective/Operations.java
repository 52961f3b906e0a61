package dev.millrace.collective;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.collective.reduce.Reducer;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * The operations that a {@link Ring} offers for all ranks and a {@link ProcessSet} for some. Every
 * operation has a name, by which the ranks' submissions find each other; ranks may submit in
 * different orders. A name may be used again when its operation is over.
 *
 * <p>Forms that end in {@code Async} return at once. Their futures always complete: with the
 * result, with the job's first failure, or at the stall deadline. They do so on the ring's own
 * thread, so what depends on them must be quick or run elsewhere. Tensors handed in must not be
 * written to until then, and those given back belong to the caller.
 *
 * <p>The other forms wait for the result and throw what went wrong.
 *
 * <p>Threading: any thread.
 */
public abstract sealed class Operations permits Ring, ProcessSet {
  private static final List<Long> NO_SPLITS = List.of();

  /** Submits an operation of these ranks; the result is what {@link Runner} makes of it. */
  abstract CompletableFuture<Object> submit(Request request, List<Tensor> tensors, boolean inPlace);

  /** The ranks, ascending; empty for all. */
  abstract List<Integer> members();

  /** This rank's number among them. */
  public abstract int rank();

  /** How many there are. */
  public abstract int size();

  // ---- all-reduce ----

  /** The reduction of all ranks' tensors of this name. */
  public Tensor allReduce(String name, Tensor tensor, ReduceOp op) {
    return await(allReduceAsync(name, tensor, op));
  }

  /** {@link #allReduce} that returns at once. */
  public CompletableFuture<Tensor> allReduceAsync(String name, Tensor tensor, ReduceOp op) {
    return reduce(name, List.of(tensor), op, false).thenApply(List::getFirst);
  }

  /** {@link #allReduce} that overwrites the tensor with the result. */
  public void allReduceInPlace(String name, Tensor tensor, ReduceOp op) {
    await(allReduceInPlaceAsync(name, tensor, op));
  }

  /** {@link #allReduceInPlace} that returns at once. */
  public CompletableFuture<Tensor> allReduceInPlaceAsync(String name, Tensor tensor, ReduceOp op) {
    return reduce(name, List.of(tensor), op, true).thenApply(List::getFirst);
  }

  /** The reductions of several tensors, all of one type, that are ready together. */
  public List<Tensor> groupedAllReduce(String name, List<Tensor> tensors, ReduceOp op) {
    return await(groupedAllReduceAsync(name, tensors, op));
  }

  /** {@link #groupedAllReduce} that returns at once. */
  public CompletableFuture<List<Tensor>> groupedAllReduceAsync(
      String name, List<Tensor> tensors, ReduceOp op) {
    return reduce(name, tensors, op, false);
  }

  /** {@link #groupedAllReduce} that overwrites the tensors with the results. */
  public void groupedAllReduceInPlace(String name, List<Tensor> tensors, ReduceOp op) {
    await(reduce(name, tensors, op, true));
  }

  /** {@link #groupedAllReduceInPlace} that returns at once. */
  public CompletableFuture<List<Tensor>> groupedAllReduceInPlaceAsync(
      String name, List<Tensor> tensors, ReduceOp op) {
    return reduce(name, tensors, op, true);
  }

  @SuppressWarnings("unchecked")
  private CompletableFuture<List<Tensor>> reduce(
      String name, List<Tensor> tensors, ReduceOp op, boolean inPlace) {
    if (tensors.isEmpty()) {
      throw MillraceException.invalid("All-reduce '%s' has no tensors.", name);
    }
    DType dtype = tensors.getFirst().dtype();
    Reducer.of(dtype, op);
    for (Tensor t : tensors) {
      if (t.dtype() != dtype) {
        throw MillraceException.invalid(
            "All-reduce '%s': the tensors of a group must have one type; found %s and %s.",
            name, dtype, t.dtype());
      }
    }
    List<Shape> shapes = tensors.stream().map(Tensor::shape).toList();
    Request r =
        new Request(Request.Kind.ALL_REDUCE, name, members(), op, 0, dtype, shapes, NO_SPLITS);
    return submit(r, tensors, inPlace).thenApply(o -> (List<Tensor>) o);
  }

  // ---- moving rows ----

  /**
   * The tensors of all ranks one after the other along the first dimension, which may differ from
   * rank to rank.
   */
  public Tensor allGather(String name, Tensor tensor) {
    return await(allGatherAsync(name, tensor));
  }

  /** {@link #allGather} that returns at once. */
  public CompletableFuture<Tensor> allGatherAsync(String name, Tensor tensor) {
    RowConsensus.requireRows("all-gather", tensor.shape());
    Request r = single(Request.Kind.ALL_GATHER, name, null, 0, tensor, NO_SPLITS);
    return submit(r, List.of(tensor), false).thenApply(o -> (Tensor) o);
  }

  /** The tensor of rank {@code root}, whose shape those of all ranks must have. */
  public Tensor broadcast(String name, Tensor tensor, int root) {
    return await(broadcast(name, tensor, root, false));
  }

  /** {@link #broadcast} that returns at once. */
  public CompletableFuture<Tensor> broadcastAsync(String name, Tensor tensor, int root) {
    return broadcast(name, tensor, root, false);
  }

  /** {@link #broadcast} that overwrites the tensor with that of rank {@code root}. */
  public void broadcastInPlace(String name, Tensor tensor, int root) {
    await(broadcast(name, tensor, root, true));
  }

  /** {@link #broadcastInPlace} that returns at once. */
  public CompletableFuture<Tensor> broadcastInPlaceAsync(String name, Tensor tensor, int root) {
    return broadcast(name, tensor, root, true);
  }

  private CompletableFuture<Tensor> broadcast(
      String name, Tensor tensor, int root, boolean inPlace) {
    if (root < 0 || root >= size()) {
      throw MillraceException.invalid(
          "Broadcast '%s' from rank %d: there are only ranks 0 to %d.", name, root, size() - 1);
    }
    Request r = single(Request.Kind.BROADCAST, name, null, root, tensor, NO_SPLITS);
    return submit(r, List.of(tensor), inPlace).thenApply(o -> (Tensor) ((List<?>) o).getFirst());
  }

  /**
   * Sends {@code splits[r]} rows of the first dimension to rank {@code r}, in order, and returns
   * the rows that came from all ranks. Without splits every rank gets equally many.
   */
  public Communicator.Received allToAll(String name, Tensor tensor, long... splits) {
    return await(allToAllAsync(name, tensor, splits));
  }

  /** {@link #allToAll} that returns at once. */
  public CompletableFuture<Communicator.Received> allToAllAsync(
      String name, Tensor tensor, long... splits) {
    List<Long> rows =
        Arrays.stream(RowConsensus.splits(tensor.shape(), splits, size())).boxed().toList();
    Request r = single(Request.Kind.ALL_TO_ALL, name, null, 0, tensor, rows);
    return submit(r, List.of(tensor), false).thenApply(o -> (Communicator.Received) o);
  }

  /**
   * This rank's share of the rows of the reduction of all ranks' tensors: the first ranks get one
   * row more where they do not divide evenly.
   */
  public Tensor reduceScatter(String name, Tensor tensor, ReduceOp op) {
    return await(reduceScatterAsync(name, tensor, op));
  }

  /** {@link #reduceScatter} that returns at once. */
  public CompletableFuture<Tensor> reduceScatterAsync(String name, Tensor tensor, ReduceOp op) {
    RowConsensus.requireRows("reduce-scatter", tensor.shape());
    Reducer.of(tensor.dtype(), op);
    Request r = single(Request.Kind.REDUCE_SCATTER, name, op, 0, tensor, NO_SPLITS);
    return submit(r, List.of(tensor), false).thenApply(o -> (Tensor) o);
  }

  private Request single(
      Request.Kind kind, String name, ReduceOp op, int root, Tensor tensor, List<Long> splits) {
    if (!tensor.dtype().isPlain()) {
      throw MillraceException.invalid(
          "'%s': a %s of %s is not possible, only of numbers and bool.",
          name, kind, tensor.dtype());
    }
    return new Request(
        kind, name, members(), op, root, tensor.dtype(), List.of(tensor.shape()), splits);
  }

  /** Returns when all ranks have called it under this name. */
  public void barrier(String name) {
    Request r =
        new Request(Request.Kind.BARRIER, name, members(), null, 0, null, List.of(), NO_SPLITS);
    await(submit(r, List.of(), false));
  }

  /**
   * What a future of the ring holds, or throws what it failed with. Ends in time because the ring
   * completes all its futures.
   */
  static <T> T await(CompletableFuture<T> future) {
    try {
      return future.join();
    } catch (CompletionException e) {
      MillraceException cause = MillraceException.of(e);
      throw cause.withMessage(cause.getMessage());
    } catch (java.util.concurrent.CancellationException e) {
      throw new MillraceException(Code.CANCELLED, "The operation was cancelled.", e);
    }
  }
}
