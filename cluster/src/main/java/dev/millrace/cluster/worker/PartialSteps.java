package dev.millrace.cluster.worker;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.peer.RunGraph;
import dev.millrace.graph.Rendezvous;
import dev.millrace.runtime.exec.StepFailures;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;

/**
 * Steps that are fed and fetched from bit by bit. The first call starts the whole step, on a thread
 * of its own; each call leaves its feeds in the step's rendezvous and takes its fetches from there;
 * the last one waits for the end.
 *
 * <p>Threading: any thread.
 */
final class PartialSteps {
  /** A step under way and what cancels it. */
  private record Running(CompletableFuture<Void> end, Cancellation cancellation) {}

  private final Worker worker;
  private final Executor threads;
  private final Map<Long, Running> running = new ConcurrentHashMap<>();

  PartialSteps(Worker worker, Executor threads) {
    this.worker = worker;
    this.threads = threads;
  }

  List<Tensor> run(
      RunGraph call, StepRendezvous rendezvous, boolean last, Cancellation cancellation) {
    Running r = running.computeIfAbsent(call.stepId(), id -> start(call));
    Cancellation.Registration onCancel =
        cancellation.onCancel(() -> r.cancellation.cancel(cancellation.cause()));
    try {
      rendezvous.feed(call.feeds());
      List<Tensor> results = fetch(call.fetchKeys(), rendezvous);
      if (last) {
        r.end.join();
        running.remove(call.stepId());
      }
      return results;
    } catch (CompletionException e) {
      running.remove(call.stepId());
      throw MillraceException.of(e);
    } finally {
      onCancel.close();
    }
  }

  private Running start(RunGraph call) {
    Cancellation cancellation = new Cancellation();
    return new Running(
        CompletableFuture.runAsync(() -> worker.run(call.bare(), cancellation), threads),
        cancellation);
  }

  private static List<Tensor> fetch(List<String> keys, StepRendezvous rendezvous) {
    List<CompletableFuture<Tensor>> coming = new ArrayList<>();
    for (String key : keys) {
      CompletableFuture<Tensor> value = new CompletableFuture<>();
      Rendezvous.Key parsed = Rendezvous.Key.parse(key);
      rendezvous.recv(parsed, new Into(parsed.tensorName(), value));
      coming.add(value);
    }
    try {
      CompletableFuture.allOf(coming.toArray(new CompletableFuture<?>[0])).join();
    } catch (CompletionException e) {
      coming.stream()
          .filter(f -> !f.isCompletedExceptionally())
          .forEach(f -> f.thenAccept(Refs::release));
      throw e;
    }
    return coming.stream().map(CompletableFuture::join).toList();
  }

  private record Into(String output, CompletableFuture<Tensor> value)
      implements Rendezvous.Receiver {
    @Override
    public void received(Tensor t, boolean dead) {
      if (dead) {
        value.completeExceptionally(StepFailures.noValue(StepFailures.fetched(output)));
      } else {
        value.complete(t);
      }
    }

    @Override
    public void failed(MillraceException cause) {
      value.completeExceptionally(cause);
    }
  }

  /** Whether a step is fed bit by bit and has not ended. */
  boolean isRunning(long stepId) {
    return running.containsKey(stepId);
  }

  /** Ends a step that will not be continued. */
  void forget(long stepId, MillraceException why) {
    Running r = running.remove(stepId);
    if (r != null) {
      r.cancellation.cancel(why);
    }
  }
}
