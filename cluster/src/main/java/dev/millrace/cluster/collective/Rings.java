package dev.millrace.cluster.collective;

import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.collective.reduce.Reducer;
import dev.millrace.graph.resource.CollectiveExecutor;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * The rings in which a group passes pieces on, each to the next rank. A tensor is cut into as many
 * pieces per ring as there are devices. To gather, each piece goes round once, from its owner. To
 * reduce, piece {@code c} goes round from rank {@code c} and grows by each one's part until it is
 * whole at rank {@code c - 1}; from there it goes round a second time as it is.
 *
 * <p>Several rings share out one tensor; they differ in the order of the devices within a task.
 */
final class Rings {
  /** Pieces are kept below this if the number of rings is not given. */
  private static final long MAX_CHUNK_BYTES = 4 << 20;

  private static final int DEFAULT_RINGS_PER_DEVICE = 2;

  private final BufferExchange exchange;
  private final int size;

  /** By ring: the group's rank of the device at each place, and the own place. */
  private final List<int[]> orders = new ArrayList<>();

  private final List<Integer> places = new ArrayList<>();

  /** Rings of the exchange's group with these offsets, as TensorFlow's {@code subdiv_offsets}. */
  Rings(BufferExchange exchange, List<Integer> offsets) {
    this.exchange = exchange;
    size = exchange.group().size();
    int own = exchange.rank();
    for (int offset : offsets) {
      int[] order = order(exchange.group().devicesPerTask(), offset);
      orders.add(order);
      for (int place = 0; place < size; place++) {
        if (order[place] == own) {
          places.add(place);
        }
      }
    }
  }

  /** The devices of each task, begun at the offset; a negative one counts from the last device. */
  private static int[] order(List<Integer> devicesPerTask, int offset) {
    int[] order = new int[devicesPerTask.stream().mapToInt(n -> n).sum()];
    int first = 0;
    for (int n : devicesPerTask) {
      for (int i = 0; i < n; i++) {
        int at = (i + Math.abs(offset)) % n;
        order[first + i] = first + (offset < 0 ? n - 1 - at : at);
      }
      first += n;
    }
    return order;
  }

  /** The offsets of a reduction: those given, or as many as its size asks for. */
  static List<Integer> offsets(
      CollectiveExecutor.Reduce work, CollectiveGroup group, long tensorBytes) {
    if (!work.rings().isEmpty()) {
      return work.rings();
    }
    if (work.ringsPerDevice() == -1 || tensorBytes == 0) {
      return List.of(0);
    }
    int devicesPerTask = group.size() / group.devicesPerTask().size();
    int perDevice = work.ringsPerDevice() > 0 ? work.ringsPerDevice() : DEFAULT_RINGS_PER_DEVICE;
    int most = perDevice * devicesPerTask;
    int count = 1;
    while (count < most && tensorBytes / ((long) group.size() * count) > MAX_CHUNK_BYTES) {
      count++;
    }
    int stride = Math.max(1, devicesPerTask / count);
    List<Integer> offsets = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      offsets.add(i % 2 == 1 ? -stride * i : stride * i);
    }
    return offsets;
  }

  void reduce(Tensor value, CollectiveExecutor.Reduce work) {
    Chunks chunks = Chunks.aligned(value.data(), value.dtype().bytes(), size * orders.size());
    Reducer reducer = Reducer.of(value.dtype(), merging(work.merge()));
    Reducer finisher = Reducer.of(value.dtype(), work.divides() ? ReduceOp.AVERAGE : ReduceOp.SUM);
    Tensor received = Refs.allocate(DType.UINT8, Shape.of(chunks.bytes(0)));
    try {
      MemorySegment other = received.data();
      // The first time round: add what comes to what is here.
      pass(
          0,
          chunks,
          (fetch, chunk) -> {
            fetch.into(other);
            reducer.apply(chunk, 0, other, 0, chunk, 0, chunk.byteSize());
          });
      for (int ring = 0; ring < orders.size(); ring++) {
        int done = index(places.get(ring) + 1, ring);
        MemorySegment chunk = chunks.get(done);
        finisher.finish(chunk, 0, chunk.byteSize(), size);
      }
      pass(1, chunks, BufferExchange.Fetch::into);
      exchange.awaitTaken();
    } finally {
      Refs.release(received);
    }
  }

  private static ReduceOp merging(CollectiveExecutor.Merge merge) {
    return switch (merge) {
      case ADD -> ReduceOp.SUM;
      case MUL -> ReduceOp.PRODUCT;
      case MIN -> ReduceOp.MIN;
      case MAX -> ReduceOp.MAX;
    };
  }

  void gather(Tensor value, Tensor own) {
    Chunks chunks = Chunks.equal(value.data(), size);
    MemorySegment mine = chunks.get(places.getFirst());
    MemorySegment.copy(own.data(), 0, mine, 0, mine.byteSize());
    pass(0, chunks, BufferExchange.Fetch::into);
    exchange.awaitTaken();
  }

  /** What to do with a piece that has been asked for. */
  private interface Arrival {
    void take(BufferExchange.Fetch fetch, MemorySegment chunk);
  }

  /**
   * Passes pieces on, {@code size - 1} times each. What this device begins with is the piece of its
   * own number the first time, the next one the second time.
   */
  private void pass(int pass, Chunks chunks, Arrival arrival) {
    List<BufferExchange.Fetch> fetches = new ArrayList<>();
    for (int step = 0; step < size - 1; step++) {
      for (int ring = 0; ring < orders.size(); ring++) {
        int chunk = index(places.get(ring) + pass - step - 1, ring);
        int before = Math.floorMod(places.get(ring) - 1, size);
        fetches.add(
            chunks.bytes(chunk) == 0
                ? null
                : exchange.fetch(
                    ":" + pass + ":" + chunk + ":" + before,
                    orders.get(ring)[before],
                    chunks.bytes(chunk)));
      }
    }
    int next = 0;
    for (int step = 0; step < size - 1; step++) {
      for (int ring = 0; ring < orders.size(); ring++) {
        int chunk = index(places.get(ring) + pass - step, ring);
        if (chunks.bytes(chunk) > 0) {
          exchange.offer(":" + pass + ":" + chunk + ":" + places.get(ring), chunks.get(chunk));
        }
      }
      for (int ring = 0; ring < orders.size(); ring++) {
        BufferExchange.Fetch fetch = fetches.get(next++);
        if (fetch != null) {
          arrival.take(fetch, chunks.get(index(places.get(ring) + pass - step - 1, ring)));
        }
      }
    }
  }

  /** The number of a ring's piece among all. */
  private int index(int chunk, int ring) {
    return Math.floorMod(chunk, size) * orders.size() + ring;
  }
}
