package dev.millrace.ops.io;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.waiting.Background;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Where the entries of a new vocabulary file stood in an old one: for each of {@code num_new_vocab}
 * lines from {@code new_vocab_offset} on, the number of the equal line of the old file, or -1. Warm
 * starts use it to carry the rows of an embedding over.
 */
final class VocabRemapping {
  static final Op OP =
      Op.define("GenerateVocabRemapping")
          .attr("new_vocab_offset: int >= 0")
          .attr("num_new_vocab: int >= 0")
          .attr("old_vocab_size: int >= -1 = -1")
          .input("new_vocab_file: string")
          .input("old_vocab_file: string")
          .output("remapping: int64")
          .output("num_present: int32")
          .shape(VocabRemapping::infer)
          .asyncKernel(
              node -> {
                long offset = node.longAttr("new_vocab_offset");
                int count = node.intAttr("num_new_vocab");
                long oldSize = node.longAttr("old_vocab_size");
                return Background.of(c -> compute(c, offset, count, oldSize));
              })
          .noGradient("it depends on files alone")
          .build();

  private VocabRemapping() {}

  private static List<Shape> infer(ShapeContext c) {
    Node node = c.node();
    return List.of(Shape.of(node.longAttr("num_new_vocab")), Shape.scalar());
  }

  private static void compute(KernelContext c, long offset, int count, long oldSize) {
    Map<String, Long> old = new HashMap<>();
    try (TextLines lines = lines(c, 1)) {
      String line;
      for (long i = 0; (oldSize < 0 || i < oldSize) && (line = next(lines)) != null; i++) {
        if (line.isEmpty()) {
          throw MillraceException.invalid(
              "Invalid content in %s: empty line found at line %d. A vocabulary has one entry per"
                  + " line.",
              c.input(1).stringAt(0), i + 1);
        }
        if (old.putIfAbsent(line, i) != null) {
          throw MillraceException.invalid(
              "The old vocabulary %s has the entry '%s' twice, in lines %d and %d. Each entry must"
                  + " be there once.",
              c.input(1).stringAt(0), line, old.get(line) + 1, i + 1);
        }
      }
    }
    Tensor remapping = c.allocate(0, Shape.of(count));
    int present = 0;
    try (TextLines lines = lines(c, 0)) {
      for (long i = 0; i < offset + count; i++) {
        String line = next(lines);
        if (line == null) {
          throw MillraceException.invalid(
              "The new vocabulary %s has %d lines; num_new_vocab = %d entries from"
                  + " new_vocab_offset = %d on need %d.",
              c.input(0).stringAt(0), i, count, offset, offset + count);
        }
        if (i >= offset) {
          long index = old.getOrDefault(line, -1L);
          remapping.setLong(i - offset, index);
          present += index >= 0 ? 1 : 0;
        }
      }
    }
    c.allocate(1, Shape.scalar()).setLong(0, present);
  }

  private static TextLines lines(KernelContext c, int input) {
    return new TextLines(FileNames.scalar(c, input).stringAt(0), 0);
  }

  /** The next line; bytes map to characters one to one, so that equal means equal bytes. */
  private static String next(TextLines lines) {
    Reader.Entry record = lines.next();
    return record == null ? null : new String(record.value(), StandardCharsets.ISO_8859_1);
  }
}
