package dev.millrace.ops.train;

import dev.millrace.graph.Fusion;
import dev.millrace.graph.Op;
import java.util.List;

/** The ops of this package. */
public final class TrainOps {
  public static final List<Op> ALL = UpdateOps.ALL;

  /** Groups of these ops and others that are run as one. */
  public static final List<Fusion> FUSIONS = List.of(DescentByProduct::match);

  private TrainOps() {}
}
