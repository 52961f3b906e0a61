package dev.millrace.train.hook;

import dev.millrace.graph.Output;
import dev.millrace.tensor.Tensor;
import java.util.Map;
import java.util.function.Supplier;

/** Feeds every step with what a function gives. The hook closes the tensors after the step. */
public final class FeedFnHook implements SessionRunHook {
  private final Supplier<Map<Output, Tensor>> feeds;
  private Map<Output, Tensor> given = Map.of();

  /** With feeds from {@code feeds}, asked once per step. */
  public FeedFnHook(Supplier<Map<Output, Tensor>> feeds) {
    this.feeds = feeds;
  }

  @Override
  public SessionRunArgs beforeRun(SessionRunContext context) {
    release();
    given = feeds.get();
    return SessionRunArgs.feeding(given);
  }

  @Override
  public void afterRun(SessionRunContext context, SessionRunValues values) {
    release();
  }

  private void release() {
    given.values().forEach(Tensor::close);
    given = Map.of();
  }
}
