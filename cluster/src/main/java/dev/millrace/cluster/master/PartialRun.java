package dev.millrace.cluster.master;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.peer.RunGraph;
import dev.millrace.cluster.peer.StepReport;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A step that a client feeds and fetches from bit by bit. All feeds and fetches go through the
 * master's own task; the others run their parts as in any step, and wait for what comes from there.
 *
 * <p>Threading: any thread; calls of one run follow one another.
 */
final class PartialRun {
  private final String session;
  private final StepPlan plan;
  private final long stepId;
  private final Map<String, String> keys = new HashMap<>();
  private final Set<String> feeds;
  private final Set<String> fetches;
  private final Set<String> unfed;
  private final Set<String> unfetched;
  private final Cancellation cancellation = new Cancellation();
  private final StepErrors errors = new StepErrors();

  /** Held while a part of the run waits for its fetches. */
  private final Lock stepping = new ReentrantLock();

  private List<CompletableFuture<List<Tensor>>> others;
  private boolean over;

  PartialRun(String session, StepPlan plan, List<String> feeds, List<String> fetches, long stepId) {
    this.session = session;
    this.plan = plan;
    this.stepId = stepId;
    for (int i = 0; i < feeds.size(); i++) {
      keys.put(feeds.get(i), plan.feedKeys().get(i));
    }
    for (int i = 0; i < fetches.size(); i++) {
      keys.put(fetches.get(i), plan.fetchKeys().get(i));
    }
    this.feeds = Set.copyOf(feeds);
    this.fetches = Set.copyOf(fetches);
    unfed = new HashSet<>(feeds);
    unfetched = new HashSet<>(fetches);
  }

  Cancellation cancellation() {
    return cancellation;
  }

  boolean isOver() {
    stepping.lock();
    try {
      return over;
    } finally {
      stepping.unlock();
    }
  }

  List<Tensor> run(List<String> feedNames, List<Tensor> feeds, List<String> fetches) {
    stepping.lock();
    try {
      check(this.feeds, unfed, feedNames, "feed", "fed");
      check(this.fetches, unfetched, fetches, "fetch", "fetched");
      feedNames.forEach(unfed::remove);
      fetches.forEach(unfetched::remove);
      Map<String, Tensor> byKey = new LinkedHashMap<>();
      for (int i = 0; i < feeds.size(); i++) {
        byKey.put(keys.get(feedNames.get(i)), feeds.get(i));
      }
      boolean last = unfed.isEmpty() && unfetched.isEmpty();
      try {
        startOthers();
        List<Tensor> results = List.of();
        for (StepPlan.Part p : plan.parts()) {
          if (p.isClient()) {
            List<String> fetchKeys = fetches.stream().map(keys::get).toList();
            results =
                p.worker().runPartialGraph(call(p, byKey, fetchKeys), last, cancellation).join();
          }
        }
        if (last) {
          others.forEach(CompletableFuture::join);
          end();
        }
        return results;
      } catch (RuntimeException e) {
        errors.add("the master's task", MillraceException.of(e), cancellation);
        cancellation.cancel(MillraceException.of(e).asDerived());
        end();
        throw errors.rootCause(cancellation);
      }
    } finally {
      stepping.unlock();
    }
  }

  /** Refuses names that were not set up or were already used, with TensorFlow's messages. */
  private static void check(
      Set<String> setUp, Set<String> left, List<String> names, String kind, String done) {
    for (String n : names) {
      if (!left.contains(n)) {
        throw MillraceException.invalid(
            "The %s %s %s",
            kind,
            n,
            setUp.contains(n)
                ? "has already been " + done + "."
                : "was not specified in partial_run_setup.");
      }
    }
  }

  private void startOthers() {
    if (others != null) {
      return;
    }
    others = new ArrayList<>();
    for (StepPlan.Part p : plan.parts()) {
      if (!p.isClient()) {
        CompletableFuture<List<Tensor>> f =
            p.worker().runGraph(call(p, Map.of(), List.of()), cancellation);
        f.whenComplete(
            (r, e) -> {
              if (e != null) {
                errors.add(p.worker().name(), MillraceException.of(e), cancellation);
              }
            });
        others.add(f);
      }
    }
  }

  private RunGraph call(StepPlan.Part p, Map<String, Tensor> feeds, List<String> fetchKeys) {
    return new RunGraph(
        session, true, p.graphHandle(), stepId, feeds, fetchKeys, new StepReport(false));
  }

  private void end() {
    over = true;
    plan.parts().forEach(p -> p.worker().cleanupStep(stepId));
  }
}
