package dev.millrace.ops.image;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class ImageOps {
  public static final List<Op> ALL =
      Stream.of(Resize.ALL, Colours.ALL, Suppression.ALL).flatMap(List::stream).toList();

  private ImageOps() {}
}
