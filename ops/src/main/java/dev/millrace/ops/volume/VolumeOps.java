package dev.millrace.ops.volume;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class VolumeOps {
  public static final List<Op> ALL =
      Stream.of(Conv3D.ALL, Pool3D.ALL).flatMap(List::stream).toList();

  private VolumeOps() {}
}
