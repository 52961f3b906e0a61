package dev.millrace.ops.space;

import dev.millrace.graph.Op;
import java.util.List;

/** The ops of this package. */
public final class SpaceOps {
  public static final List<Op> ALL =
      List.of(
          DepthSpace.TO_SPACE,
          DepthSpace.TO_DEPTH,
          BatchSpace.TO_BATCH_ND,
          BatchSpace.TO_SPACE_ND,
          BatchSpace.TO_BATCH,
          BatchSpace.TO_SPACE);

  private SpaceOps() {}
}
