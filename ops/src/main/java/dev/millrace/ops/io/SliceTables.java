package dev.millrace.ops.io;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Fusion.Fused;
import dev.millrace.graph.Fusion.Readers;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.waiting.Background;
import dev.millrace.storage.checkpoint.ShapeAndSlice;
import dev.millrace.storage.checkpoint.SliceTableReader;
import dev.millrace.storage.checkpoint.SliceTableWriter;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Saves tensors in checkpoints of version 1 and restores them: the ops before SaveV2. */
public final class SliceTables {
  private static final Op SAVE = save("Save", false, false);
  private static final Op SAVE_SLICES = save("SaveSlices", true, false);

  /** The same of variables by their handles; no graph has them before it is run. */
  private static final Op SAVE_VARIABLES = save("_SaveVariables", false, true);

  private static final Op SAVE_SLICES_VARIABLES = save("_SaveSlicesVariables", true, true);
  private static final Op RESTORE = restore("Restore", false);
  private static final Op RESTORE_SLICE = restore("RestoreSlice", true);

  static final List<Op> ALL = List.of(SAVE, SAVE_SLICES, RESTORE, RESTORE_SLICE);

  private SliceTables() {}

  /** Matches a save of what other nodes read of variables. */
  static Fused match(Node last, Readers readers) {
    if (last.op() == SAVE) {
      return SavedValues.fuse(last, readers, SAVE_VARIABLES, 2, "T");
    }
    return last.op() == SAVE_SLICES
        ? SavedValues.fuse(last, readers, SAVE_SLICES_VARIABLES, 3, "T")
        : null;
  }

  private static Op save(String name, boolean slices, boolean handles) {
    Op.Builder op =
        Op.define(name)
            .attr("T: list(type) >= 1")
            .input("filename: string")
            .input("tensor_names: string");
    if (slices) {
      op.input("shapes_and_slices: string");
    }
    return op.input("data: T")
        .stateful()
        .shape(Shapes.none())
        .asyncKernel(node -> Background.of(c -> save(c, slices, handles)))
        .noGradient("it has no outputs")
        .build();
  }

  private static Op restore(String name, boolean slice) {
    Op.Builder op =
        Op.define(name)
            .attr("dt: type")
            .attr("preferred_shard: int = -1")
            .input("file_pattern: string")
            .input("tensor_name: string");
    if (slice) {
      op.input("shape_and_slice: string");
    }
    return op.output("tensor: dt")
        .stateful()
        .shape(c -> List.of(slice ? restoredShape(c) : Shape.unknown()))
        .asyncKernel(
            node -> {
              DType type = node.typeAttr("dt");
              return Background.of(c -> restore(c, type, slice));
            })
        .noGradient("what a file holds depends on nothing in the graph")
        .build();
  }

  private static void save(KernelContext c, boolean slices, boolean handles) {
    int first = slices ? 3 : 2;
    for (int i = 1; i < first; i++) {
      Checkpoints.checkNames(c, i, c.inputCount() - first);
    }
    SavedValues values = new SavedValues(c, first, handles);
    boolean done = false;
    while (!done) {
      SliceTableWriter writer = new SliceTableWriter(FileNames.at(c, 0));
      done = values.writeTo((tensor, i) -> add(writer, c, i, slices, tensor));
      if (done) {
        writer.finish();
      }
    }
  }

  private static void add(
      SliceTableWriter writer, KernelContext c, int i, boolean slices, Tensor tensor) {
    String name = c.input(1).stringAt(i);
    Optional<ShapeAndSlice> part =
        slices ? ShapeAndSlice.parse(c.input(2).stringAt(i)) : Optional.empty();
    if (part.isPresent()) {
      writer.add(name, part.get(), tensor);
    } else {
      writer.add(name, tensor);
    }
  }

  private static void restore(KernelContext c, DType type, boolean slice) {
    SliceTableReader reader = new SliceTableReader(files(FileNames.at(c, 0)));
    String name = FileNames.scalar(c, 1).stringAt(0);
    DType stored = reader.dtype(name);
    if (stored != type) {
      throw MillraceException.invalid(
          "%s '%s': tensor '%s' is %s in checkpoint '%s', but %s was asked for.",
          c.node().op().name(), c.node().name(), name, stored, c.input(0).stringAt(0), type);
    }
    Optional<ShapeAndSlice> part =
        slice ? ShapeAndSlice.parse(FileNames.scalar(c, 2).stringAt(0)) : Optional.empty();
    c.output(0, part.isPresent() ? reader.readCounted(name, part.get()) : reader.readCounted(name));
  }

  private static List<Path> files(Path pattern) {
    List<Path> files = FilePattern.matches(pattern);
    files.removeIf(file -> !Files.isRegularFile(file));
    if (files.isEmpty()) {
      throw new MillraceException(
          Code.NOT_FOUND, "Failed to find any matching files for " + pattern + ".");
    }
    return files;
  }

  private static Shape restoredShape(ShapeContext c) {
    Tensor slice = c.constant(2);
    return slice == null || slice.elements() != 1
        ? Shape.unknown()
        : ShapeAndSlice.parse(slice.stringAt(0))
            .map(ShapeAndSlice::sliceShape)
            .orElse(Shape.unknown());
  }
}
