package dev.millrace.ops.train;

import dev.millrace.graph.op.Op;
import java.util.List;

/** The ops of this package. */
public final class TrainOps {
  public static final List<Op> ALL = UpdateOps.ALL;

  private TrainOps() {}
}
