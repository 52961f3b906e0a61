package dev.millrace.collective;

import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
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
  List<Object> run(ReductionOrder.Run order, List<Operation> operations) {
    Request first = order.requests().getFirst();
    return switch (first.kind()) {
      case ALL_REDUCE -> allReduce(order.requests(), operations);
      case ALL_GATHER -> List.of(ranks.allGather(only(operations), order.sizes()));
      case BROADCAST -> List.of(broadcast(operations.getFirst()));
      case ALL_TO_ALL -> List.of(allToAll(only(operations), order.sizes()));
      case REDUCE_SCATTER -> List.of(ranks.reduceScatter(only(operations), first.op()));
      // That all ranks were ordered to run it says that all have come.
      case BARRIER -> List.of(true);
      case SEQUENCE, JOIN -> throw new IllegalStateException(first.kind() + " is not run here");
    };
  }

  private static Tensor only(List<Operation> operations) {
    return operations.getFirst().tensors().getFirst();
  }

  private List<Object> allReduce(List<Request> requests, List<Operation> operations) {
    List<Tensor> sources = new ArrayList<>();
    List<Tensor> targets = new ArrayList<>();
    List<Tensor> made = new ArrayList<>();
    int count = requests.stream().mapToInt(r -> r.shapes().size()).sum();
    try {
      for (int i = 0; i < requests.size(); i++) {
        Operation o = operations.get(i);
        for (int k = 0; k < requests.get(i).shapes().size(); k++) {
          Tensor target = target(requests.get(i), o, k, count, made);
          targets.add(target);
          sources.add(o == null ? target : o.tensors().get(k));
        }
      }
      ranks.allReduce(sources, targets, requests.getFirst().op());
    } catch (RuntimeException | Error e) {
      Refs.releaseAll(made);
      throw e;
    }
    List<Object> results = new ArrayList<>();
    Iterator<Tensor> next = targets.iterator();
    for (int i = 0; i < requests.size(); i++) {
      results.add(result(requests.get(i), operations.get(i), next));
    }
    return results;
  }

  /** Where a result goes: into the operation's own tensor, or a new one. */
  private Tensor target(Request r, Operation o, int k, int count, List<Tensor> made) {
    if (o != null && o.inPlace()) {
      return o.tensors().get(k);
    }
    Tensor t = ranks.allocateTarget(r.dtype(), r.shapes().get(k), count);
    made.add(t);
    if (o == null) {
      t.data().fill((byte) 0);
    }
    return t;
  }

  /** What the caller gets: the tensors it gave, or handles of its own; nothing if it has joined. */
  private static List<Tensor> result(Request r, Operation o, Iterator<Tensor> targets) {
    List<Tensor> result = new ArrayList<>();
    for (int k = 0; k < r.shapes().size(); k++) {
      Tensor t = targets.next();
      if (o == null) {
        Refs.release(t);
      } else {
        result.add(o.inPlace() ? o.given().get(k) : Refs.handle(t));
      }
    }
    return List.copyOf(result);
  }

  private Object broadcast(Operation o) {
    Tensor own = o.tensors().getFirst();
    if (o.inPlace()) {
      ranks.broadcast(own, o.request().root());
      return o.given();
    }
    Tensor t = own.copy();
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
