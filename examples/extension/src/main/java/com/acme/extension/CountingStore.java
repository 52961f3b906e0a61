package com.acme.extension;

import dev.millrace.graph.resource.StateId;
import dev.millrace.graph.resource.Variable;
import dev.millrace.graph.resource.VariableStore;
import dev.millrace.tensor.DType;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Keeps variables in memory and counts the steps that are committed.
 *
 * <p>Threading: any thread.
 */
final class CountingStore implements VariableStore {
  private final AtomicInteger commits = new AtomicInteger();

  int commits() {
    return commits.get();
  }

  @Override
  public Variable create(StateId id, DType dtype) {
    return MEMORY.create(id, dtype);
  }

  @Override
  public void commit(long stepId) {
    commits.incrementAndGet();
  }
}
