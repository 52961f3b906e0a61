package dev.millrace.ops.text;

import dev.millrace.graph.Op;
import java.util.List;
import java.util.stream.Stream;

/** The ops of this package. */
public final class TextOps {
  public static final List<Op> ALL =
      Stream.of(
              HashBuckets.ALL,
              Base64Text.ALL,
              Letters.ALL,
              SplitText.ALL,
              JoinedText.ALL,
              Unicode.ALL,
              List.of(
                  AsString.OP,
                  Fingerprint.OP,
                  RegexReplace.OP,
                  RegexReplace.STATIC,
                  StringFormat.OP,
                  StringToNumber.OP,
                  Substr.OP))
          .flatMap(List::stream)
          .toList();

  private TextOps() {}
}
