package dev.millrace.collective;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Timers;
import dev.millrace.collective.algorithm.Algorithms;
import dev.millrace.collective.algorithm.Collectives;
import dev.millrace.collective.algorithm.VectorParts;
import dev.millrace.collective.member.JobEntry;
import dev.millrace.collective.member.Service;
import dev.millrace.collective.peers.Connector;
import dev.millrace.collective.peers.RankPeers;
import dev.millrace.collective.peers.ThreadPeers;
import dev.millrace.collective.peers.Topology;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.collective.reduce.Reducer;
import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Collective operations as in MPI: all ranks call the same ones in the same order, and each call
 * returns when its result is there. Ranks that do different things find out and all fail with a
 * message that says who did what. After a failure nothing but {@link #close} makes sense.
 *
 * <p>The result of a reduction depends on the ranks' values, their number and which of them share
 * memory, and on nothing else: it is the same to the bit on all ranks and in every run. (Which NaN
 * a NaN is, is not promised.)
 *
 * <p>Threading: one thread at a time.
 */
public final class Communicator implements AutoCloseable {
  /** From this size a tensor gains more by not being packed than by going with others. */
  private static final long LARGE_BYTES = 1 << 20;

  private final RankPeers peers;
  private final Topology hosts;
  private final Collectives collectives;
  private final Duration timeout;
  private final Runnable leave;

  /** Holds tensors reduced together; null until needed. */
  private Buffer fusion;

  private Communicator(RankPeers peers, Topology hosts, Duration timeout, Runnable leave) {
    this.peers = peers;
    this.hosts = hosts;
    this.timeout = timeout;
    this.leave = leave;
    this.collectives = new Collectives(peers, timeout, Algorithms.DEFAULT);
  }

  /** Joins the job the settings name, and returns when all its ranks have joined. */
  public static Communicator join(Settings settings) {
    if (settings.place().size() == 1) {
      return alone(settings);
    }
    JobEntry job =
        JobEntry.enter(settings.place(), settings.terms(), settings.platform(), Service::none);
    return connect(settings, job, false);
  }

  static Communicator alone(Settings settings) {
    Topology one = Topology.apart(1);
    RankPeers nobody = ThreadPeers.apart(1).getFirst();
    return new Communicator(nobody, one, settings.timeout(), () -> {});
  }

  /**
   * Connects the ranks of a job this process has entered, and closes it with the communicator. It
   * will be used in the {@code background} of what ranks compute or have them to itself.
   */
  static Communicator connect(Settings settings, JobEntry job, boolean background) {
    try {
      job.awaitAll();
      Connector.Connected c =
          Connector.connect(
              job.member(),
              job.token(),
              settings.place(),
              settings.transport(),
              settings.terms(),
              settings.platform(),
              background);
      // Sends the leave message first: a stream that closes before it looks like a failure.
      Runnable leave =
          () -> {
            job.close();
            c.peers().close();
          };
      return new Communicator(c.peers(), c.hosts(), settings.timeout(), leave);
    } catch (RuntimeException e) {
      job.close();
      throw e;
    }
  }

  /** A communicator between peers that are there already. Closing it leaves them open. */
  static Communicator over(RankPeers peers, Duration timeout) {
    return new Communicator(peers, peers.topology(), timeout, () -> {});
  }

  /** These ranks alone, renumbered from 0; this must be one of them. Closed apart from this. */
  Communicator subset(int... ranks) {
    RankPeers some = peers.subset(ranks);
    return new Communicator(some, some.topology(), timeout, () -> {});
  }

  /** This rank, from 0. */
  public int rank() {
    return peers.rank();
  }

  /** How many ranks there are. */
  public int size() {
    return peers.size();
  }

  /** The clock of this rank. */
  Timers timers() {
    return peers.timers();
  }

  /** Which ranks share a host. */
  public Topology hosts() {
    return hosts;
  }

  /**
   * A tensor of undefined contents that the caller owns, in memory all ranks of this host can reach
   * where there is such and room in it. Reducing it in place there costs one pass and no copy.
   */
  public Tensor allocate(DType dtype, Shape shape) {
    return Refs.handle(allocateCounted(dtype, shape));
  }

  private Tensor allocateCounted(DType dtype, Shape shape) {
    Tensor shared = allocateShared(dtype, shape);
    return shared == null ? Refs.allocate(dtype, shape) : shared;
  }

  /** Null where there is no such memory, or no room in it. */
  private Tensor allocateShared(DType dtype, Shape shape) {
    Buffer shared = peers.island() == null ? null : peers.island().allocate(bytes(dtype, shape));
    return shared == null ? null : Refs.ofBuffer(dtype, shape, shared);
  }

  private static long bytes(DType dtype, Shape shape) {
    return Math.multiplyExact(shape.elements(), (long) dtype.bytes());
  }

  /** Makes a target for one of so many tensors that are reduced in one go. */
  Tensor allocateTarget(DType dtype, Shape shape, int tensors) {
    return isReducedAlone(bytes(dtype, shape), tensors)
        ? allocateCounted(dtype, shape)
        : Refs.allocate(dtype, shape);
  }

  /**
   * Makes a tensor that is reduced where it lies, whatever is reduced with it; null if it is small
   * or there is no room. Any thread may call this.
   */
  Tensor allocateInPlace(DType dtype, Shape shape) {
    return bytes(dtype, shape) < LARGE_BYTES ? null : allocateShared(dtype, shape);
  }

  /** Whether a tensor of {@link #allocateInPlace}, or one like it, is its own best target. */
  boolean isInPlace(Tensor tensor) {
    return tensor.byteSize() >= LARGE_BYTES
        && peers.island() != null
        && peers.island().offsetOf(tensor.data()) >= 0;
  }

  /** Replaces a tensor on all ranks by the reduction of all ranks' tensors. */
  public void allReduce(Tensor tensor, ReduceOp op) {
    long[] bounds = VectorParts.bounds(tensor.byteSize(), collectives.parts());
    guard(() -> collectives.allReduce(tensor.data(), bounds, tensor.dtype(), op));
  }

  /** {@link #allReduce(Tensor, ReduceOp)} of several tensors of one type in one go. */
  public void allReduce(List<Tensor> tensors, ReduceOp op) {
    allReduce(tensors, tensors, op);
  }

  /**
   * Reduces several tensors of one type in one go and stores the results in {@code targets}, which
   * have the same shapes and may be the same tensors. Small ones are packed into one vector in
   * memory that other ranks can reach; a target for a large one is best made there itself.
   */
  void allReduce(List<Tensor> tensors, List<Tensor> targets, ReduceOp op) {
    for (Tensor t : tensors) {
      DType dtype = tensors.getFirst().dtype();
      if (t.dtype() != dtype) {
        throw MillraceException.invalid(
            "Tensors reduced in one go must have one type; found %s and %s.", dtype, t.dtype());
      }
    }
    List<Tensor> small = new ArrayList<>();
    List<Tensor> smallTargets = new ArrayList<>();
    for (int i = 0; i < tensors.size(); i++) {
      if (isReducedAlone(tensors.get(i).byteSize(), tensors.size())) {
        reduceAlone(tensors.get(i), targets.get(i), op);
      } else {
        small.add(tensors.get(i));
        smallTargets.add(targets.get(i));
      }
    }
    if (small.size() == 1) {
      reduceAlone(small.getFirst(), smallTargets.getFirst(), op);
    } else if (!small.isEmpty()) {
      reducePacked(small, smallTargets, op);
    }
  }

  private static boolean isReducedAlone(long bytes, int tensors) {
    return tensors == 1 || bytes >= LARGE_BYTES;
  }

  private void reduceAlone(Tensor tensor, Tensor target, ReduceOp op) {
    if (target.data().address() != tensor.data().address()) {
      MemorySegment.copy(tensor.data(), 0, target.data(), 0, target.byteSize());
    }
    allReduce(target, op);
  }

  private void reducePacked(List<Tensor> tensors, List<Tensor> targets, ReduceOp op) {
    DType dtype = tensors.getFirst().dtype();
    Packing packing = new Packing(tensors, collectives.parts());
    MemorySegment vector = fusion(packing.bytes());
    packing.pack(tensors, vector);
    guard(() -> collectives.allReduce(vector, packing.bounds(), dtype, op));
    packing.unpack(vector, targets);
  }

  private MemorySegment fusion(long bytes) {
    if (fusion == null || fusion.capacityBytes() < bytes) {
      if (fusion != null) {
        fusion.release();
      }
      fusion = peers.island() == null ? null : peers.island().allocate(bytes);
      fusion = fusion == null ? BufferPool.current().allocate(bytes) : fusion;
    }
    return fusion.memory();
  }

  /** Overwrites a tensor on all ranks by that of rank {@code root}. */
  public void broadcast(Tensor tensor, int root) {
    if (root < 0 || root >= size()) {
      throw MillraceException.invalid(
          "Broadcast from rank %d: there are only ranks 0 to %d.", root, size() - 1);
    }
    guard(() -> collectives.broadcast(tensor.data(), tensor.byteSize(), root));
  }

  /**
   * The tensors of all ranks one after the other along the first dimension, which may differ from
   * rank to rank. The caller owns the result.
   */
  public Tensor allGather(Tensor tensor) {
    return allGather(tensor, RowConsensus.onRows(this, "all-gather", tensor));
  }

  /** {@link #allGather(Tensor)} where every rank's rows are known. */
  Tensor allGather(Tensor tensor, long[] rows) {
    long rowBytes = RowConsensus.rowBytes(tensor.dtype(), tensor.shape());
    long[] bounds = new long[size() + 1];
    for (int r = 0; r < size(); r++) {
      bounds[r + 1] = bounds[r] + rows[r] * rowBytes;
    }
    long total = java.util.Arrays.stream(rows).sum();
    Tensor all = Tensor.allocate(tensor.dtype(), tensor.shape().withDim(0, total));
    MemorySegment.copy(tensor.data(), 0, all.data(), bounds[rank()], tensor.byteSize());
    guard(() -> collectives.allGather(all.data(), bounds));
    return all;
  }

  /**
   * Rows that came from the ranks.
   *
   * @param tensor all of them, in order of rank; the caller owns it
   * @param splits how many came from each rank
   */
  public record Received(Tensor tensor, long[] splits) {}

  /**
   * Sends {@code splits[r]} rows of the first dimension to rank {@code r}, in order, and returns
   * the rows that came from all ranks. Without splits every rank gets equally many.
   */
  public Received allToAll(Tensor tensor, long... splits) {
    long[] mine = RowConsensus.splits(tensor.shape(), splits, size());
    RowConsensus.onRows(this, "all-to-all", tensor);
    long[][] all = guarded(() -> collectives.exchange(mine));
    long[] theirs = new long[size()];
    for (int r = 0; r < size(); r++) {
      theirs[r] = all[r][rank()];
    }
    return allToAll(tensor, mine, theirs);
  }

  /** {@link #allToAll(Tensor, long...)} where it is known how many rows come from each rank. */
  Received allToAll(Tensor tensor, long[] mine, long[] theirs) {
    long rowBytes = RowConsensus.rowBytes(tensor.dtype(), tensor.shape());
    long[] in = new long[size() + 1];
    long[] out = new long[size() + 1];
    for (int r = 0; r < size(); r++) {
      in[r + 1] = in[r] + mine[r] * rowBytes;
      out[r + 1] = out[r] + theirs[r] * rowBytes;
    }
    long rows = java.util.Arrays.stream(theirs).sum();
    Tensor received = Tensor.allocate(tensor.dtype(), tensor.shape().withDim(0, rows));
    guard(() -> collectives.allToAll(tensor.data(), in, received.data(), out));
    return new Received(received, theirs);
  }

  /**
   * Reduces a tensor over all ranks and leaves to each a share of the rows: the first ranks get one
   * more where they do not divide evenly. The caller owns the result; the tensor stays as it is.
   */
  public Tensor reduceScatter(Tensor tensor, ReduceOp op) {
    Reducer.of(tensor.dtype(), op);
    long[] rows = RowConsensus.shares(tensor.shape(), size());
    long rowBytes = RowConsensus.rowBytes(tensor.dtype(), tensor.shape());
    long[] bounds = new long[size() + 1];
    for (int r = 0; r < size(); r++) {
      bounds[r + 1] = bounds[r] + rows[r] * rowBytes;
    }
    Tensor work = Refs.copy(tensor);
    try {
      guard(() -> collectives.reduceScatter(work.data(), bounds, tensor.dtype(), op));
      Tensor mine = Tensor.allocate(tensor.dtype(), tensor.shape().withDim(0, rows[rank()]));
      MemorySegment.copy(work.data(), bounds[rank()], mine.data(), 0, mine.byteSize());
      return mine;
    } finally {
      Refs.release(work);
    }
  }

  /** Returns when all ranks have called it. */
  public void barrier() {
    guard(collectives::barrier);
  }

  /** What every rank gives, in order of rank; all must give equally many words. */
  long[][] exchange(long... words) {
    return guarded(() -> collectives.exchange(words));
  }

  /**
   * Ends the job for all ranks because this one cannot go on. They all learn the first failure of
   * the job, which is returned.
   */
  public MillraceException abort(Throwable cause) {
    MillraceException own = MillraceException.of(cause);
    String text = "Rank " + rank() + " failed: " + own.getMessage();
    return peers.liveness().fail(new MillraceException(own.code(), text, cause));
  }

  private void guard(Runnable operation) {
    guarded(
        () -> {
          operation.run();
          return null;
        });
  }

  /** Runs an operation; what ends it unexpectedly on this rank ends the job for all. */
  private <T> T guarded(java.util.function.Supplier<T> operation) {
    MillraceException failed = peers.liveness().failure();
    if (failed != null) {
      throw failed;
    }
    try {
      return operation.get();
    } catch (MillraceException e) {
      throw e;
    } catch (RuntimeException | Error e) {
      throw abort(
          new MillraceException(Code.INTERNAL, "A collective operation broke down: " + e, e));
    }
  }

  /** Leaves the job. Waits a few seconds at most. */
  @Override
  public void close() {
    collectives.close();
    if (fusion != null) {
      fusion.release();
      fusion = null;
    }
    leave();
  }

  /** {@link #close} that keeps the memory an operation may still be working on. */
  void leave() {
    leave.run();
  }
}
