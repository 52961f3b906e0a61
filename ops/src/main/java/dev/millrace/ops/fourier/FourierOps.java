package dev.millrace.ops.fourier;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class FourierOps {
  public static final List<Op> ALL =
      Stream.of(ComplexTransform.ALL, RealTransform.ALL).flatMap(List::stream).toList();

  private FourierOps() {}
}
