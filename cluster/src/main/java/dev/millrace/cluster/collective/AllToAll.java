package dev.millrace.cluster.collective;

import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Every device has a row for each of the group and gives it to that one. TensorFlow names a row by
 * the two ranks with nothing between them, and so does this.
 */
final class AllToAll {
  private final BufferExchange exchange;

  AllToAll(BufferExchange exchange) {
    this.exchange = exchange;
  }

  /** Puts the rows the others have for this device into {@code value}, in the order of ranks. */
  void run(Tensor value, Tensor own) {
    int size = exchange.group().size();
    int me = exchange.rank();
    Chunks given = Chunks.equal(own.data(), size);
    Chunks taken = Chunks.equal(value.data(), size);
    MemorySegment.copy(given.get(me), 0, taken.get(me), 0, given.bytes(me));
    if (given.bytes(me) == 0) {
      return;
    }
    List<BufferExchange.Fetch> fetches = new ArrayList<>();
    List<MemorySegment> places = new ArrayList<>();
    for (int other = 0; other < size; other++) {
      if (other != me) {
        exchange.offer("" + me + other, given.get(other));
        fetches.add(exchange.fetch("" + other + me, other, taken.bytes(other)));
        places.add(taken.get(other));
      }
    }
    for (int i = 0; i < fetches.size(); i++) {
      fetches.get(i).into(places.get(i));
    }
    exchange.awaitTaken();
  }
}
