package dev.millrace.collective;

import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Runs operations that all ranks of a process set run now. */
final class Runner {
  private final Communicator ranks;

  Runner(Communicator ranks) {
    this.ranks = ranks;
  }

  /**
   * Runs one order. {@code operations} are this rank's, one per request; null where this rank has
   * joined and contributes zeros. The result of each is what its future is to hold.
   */
  List<Object> run(Order.Run order, List<Operation> operations) {
    Request first = order.requests().getFirst();
    return switch (first.kind()) {
      case ALL_REDUCE -> allReduce(order.requests(), operations);
      case ALL_GATHER -> List.of(ranks.allGather(only(operations), order.rows()));
      case BROADCAST -> List.of(broadcast(operations.getFirst()));
      case ALL_TO_ALL -> List.of(allToAll(only(operations), order.rows()));
      case REDUCE_SCATTER -> List.of(ranks.reduceScatter(only(operations), first.op()));
      // That all ranks were ordered to run it says that all have come.
      case BARRIER -> List.of(Boolean.TRUE);
      case JOIN -> throw new IllegalStateException("joining is not run");
    };
  }

  private static Tensor only(List<Operation> operations) {
    return operations.getFirst().tensors().getFirst();
  }

  private List<Object> allReduce(List<Request> requests, List<Operation> operations) {
    List<Tensor> all = new ArrayList<>();
    List<Object> results = new ArrayList<>();
    List<Tensor> borrowed = new ArrayList<>();
    try {
      for (int i = 0; i < requests.size(); i++) {
        Operation o = operations.get(i);
        List<Tensor> targets = new ArrayList<>();
        for (int k = 0; k < requests.get(i).shapes().size(); k++) {
          targets.add(target(requests.get(i), o, k, borrowed));
        }
        all.addAll(targets);
        results.add(targets);
      }
      ranks.allReduce(all, requests.getFirst().op());
      // From here on they belong to the caller.
      borrowed.forEach(Tensor::guarded);
      return results;
    } catch (RuntimeException | Error e) {
      borrowed.forEach(Tensor::release);
      throw e;
    }
  }

  /** The tensor to be reduced in place: the operation's own, a copy of it, or zeros. */
  private Tensor target(Request r, Operation o, int k, List<Tensor> borrowed) {
    if (o != null && o.inPlace()) {
      return o.tensors().get(k);
    }
    Tensor t = ranks.allocateCounted(r.dtype(), r.shapes().get(k));
    borrowed.add(t);
    if (o == null) {
      t.data().fill((byte) 0);
    } else {
      MemorySegment.copy(o.tensors().get(k).data(), 0, t.data(), 0, t.byteSize());
    }
    return t;
  }

  private Object broadcast(Operation o) {
    Tensor given = o.tensors().getFirst();
    Tensor t = o.inPlace() ? given : given.copyCounted().guarded();
    ranks.broadcast(t, o.request().root());
    return List.of(t);
  }

  private Communicator.Received allToAll(Tensor tensor, long[] rows) {
    int n = ranks.size();
    long[] mine = Arrays.copyOfRange(rows, ranks.rank() * n, (ranks.rank() + 1) * n);
    long[] theirs = new long[n];
    for (int r = 0; r < n; r++) {
      theirs[r] = rows[r * n + ranks.rank()];
    }
    return ranks.allToAll(tensor, mine, theirs);
  }
}
