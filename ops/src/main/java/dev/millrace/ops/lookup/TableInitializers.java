package dev.millrace.ops.lookup;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.ops.io.WholeFiles;
import dev.millrace.ops.state.HandleKind;
import dev.millrace.ops.waiting.Background;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The ops that fill a static table: from two tensors, or from the lines of a file. */
final class TableInitializers {
  static final List<Op> ALL =
      List.of(
          fromTensors(HandleKind.REFERENCE, "InitializeTable"),
          fromTensors(HandleKind.RESOURCE, "InitializeTableV2"),
          fromFile(HandleKind.REFERENCE, "InitializeTableFromTextFile"),
          fromFile(HandleKind.RESOURCE, "InitializeTableFromTextFileV2"));

  private TableInitializers() {}

  private static Op fromTensors(HandleKind kind, String name) {
    return kind.using(Op.define(name))
        .attr("Tkey: type")
        .attr("Tval: type")
        .input("table_handle: " + kind.type)
        .input("keys: Tkey")
        .input("values: Tval")
        .shape(
            c -> {
              c.inputOfRank(1, 1).mergeWith(c.input(2));
              return List.of();
            })
        .kernel(c -> initialize(c, TableAccess.table(kind, c), c.input(1), c.input(2)))
        .noGradient("it has no outputs")
        .build();
  }

  /** What a table has exported, into a table; a static one is initialized by it. */
  static void load(KernelContext c, LookupTable table, Tensor keys, Tensor values) {
    if (table.spec().kind() == TableKind.STATIC) {
      initialize(c, table, keys, values);
    } else {
      table.load(c, keys, values);
    }
  }

  private static void initialize(KernelContext c, LookupTable table, Tensor keys, Tensor values) {
    if (keys.shape().rank() != 1) {
      throw MillraceException.invalid("Keys must be a vector, but received shape %s", keys.shape());
    }
    if (keys.elements() == 0) {
      throw MillraceException.invalid("keys and values cannot be empty tensors.");
    }
    if (!values.shape().equals(keys.shape())) {
      throw MillraceException.invalid(
          "Keys and values must have the same size %d vs %d", keys.elements(), values.elements());
    }
    table.spec().checkValues(keys, values);
    Map<Object, Object> entries = new LinkedHashMap<>();
    for (long i = 0; i < keys.elements(); i++) {
      put(entries, Entries.read(keys, i, 1), Entries.read(values, i, 1));
    }
    table.initialize(c, entries);
  }

  static void put(Map<Object, Object> entries, Object key, Object value) {
    Object before = entries.putIfAbsent(key, value);
    if (before != null && !before.equals(value)) {
      throw MillraceException.failedPrecondition(
          "HashTable has different value for same key. Key %s has %s and trying to add value %s",
          key, before, value);
    }
  }

  private static Op fromFile(HandleKind kind, String name) {
    return kind.using(Op.define(name))
        .attr("key_index: int >= -2")
        .attr("value_index: int >= -2")
        .attr("vocab_size: int >= -1 = -1")
        .attr("delimiter: string = '\t'")
        .attr("offset: int = 0")
        .input("table_handle: " + kind.type)
        .input("filename: string")
        .shape(
            c -> {
              c.inputOfRank(1, 0);
              return List.of();
            })
        .asyncKernel(node -> Background.of(read(node, kind)))
        .noGradient("it has no outputs")
        .build();
  }

  private static Kernel read(Node node, HandleKind kind) {
    VocabularyFile.Format format = VocabularyFile.Format.of(node);
    return (KernelContext c) -> {
      LookupTable table = TableAccess.table(kind, c);
      Tensor name = c.input(1);
      if (name.dtype() != DType.STRING || !name.shape().equals(Shape.scalar())) {
        throw MillraceException.invalid(
            "filename should be a single string, but got %s", name.shape());
      }
      String file = name.stringAt(0);
      table.initialize(
          c, VocabularyFile.read(file, WholeFiles.contents(file), format, table.spec()));
    };
  }
}
