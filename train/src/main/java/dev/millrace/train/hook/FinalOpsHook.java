package dev.millrace.train.hook;

import dev.millrace.graph.Output;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;

/** Runs a last step when training ends, and keeps what it gives. */
public final class FinalOpsHook implements SessionRunHook {
  private final List<Output> fetches;
  private final Map<Output, Tensor> feeds;
  private List<Tensor> values = List.of();

  /** Fetches {@code fetches} under {@code feeds}. */
  public FinalOpsHook(List<Output> fetches, Map<Output, Tensor> feeds) {
    this.fetches = fetches;
    this.feeds = feeds;
  }

  @Override
  public void end(Session session) {
    values = session.run(feeds, fetches, List.of());
  }

  /** What was fetched; empty until training has ended. The caller's to close. */
  public List<Tensor> values() {
    return values;
  }
}
