package dev.millrace.ops.io;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Fusion.Fused;
import dev.millrace.graph.Fusion.Readers;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.ShapeContext;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.ops.waiting.Background;
import dev.millrace.storage.checkpoint.BundleMerge;
import dev.millrace.storage.checkpoint.BundleReader;
import dev.millrace.storage.checkpoint.BundleWriter;
import dev.millrace.storage.checkpoint.ShapeAndSlice;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Saves tensors in a checkpoint, restores them, and makes one checkpoint of several. */
public final class Checkpoints {
  public static final Op SAVE = save("SaveV2", false);

  /** The same of variables by their handles; no graph has it before it is run. */
  private static final Op SAVE_VARIABLES = save("_SaveV2Variables", true);

  public static final Op RESTORE =
      Op.define("RestoreV2")
          .attr("dtypes: list(type) >= 1")
          .input("prefix: string")
          .input("tensor_names: string")
          .input("shape_and_slices: string")
          .output("tensors: dtypes")
          .stateful()
          .shape(Checkpoints::restoredShapes)
          .asyncKernel(
              node -> {
                List<DType> types = node.typesAttr("dtypes");
                return Background.of(c -> restore(c, types));
              })
          .noGradient("what a file holds depends on nothing in the graph")
          .build();

  public static final Op MERGE =
      Op.define("MergeV2Checkpoints")
          .attr("delete_old_dirs: bool = true")
          .attr("allow_missing_files: bool = false")
          .input("checkpoint_prefixes: string")
          .input("destination_prefix: string")
          .stateful()
          .shape(Shapes.none())
          .asyncKernel(
              node -> {
                boolean delete = node.booleanAttr("delete_old_dirs");
                boolean allowMissing = node.booleanAttr("allow_missing_files");
                return Background.of(
                    c ->
                        BundleMerge.merge(
                            Arrays.stream(c.input(0).toStrings()).map(FileNames::path).toList(),
                            FileNames.at(c, 1),
                            delete,
                            allowMissing));
              })
          .noGradient("it has no outputs")
          .build();

  static final List<Op> ALL = List.of(SAVE, RESTORE, MERGE);

  private Checkpoints() {}

  private static Op save(String name, boolean handles) {
    return Op.define(name)
        .attr("dtypes: list(type) >= 1")
        .input("prefix: string")
        .input("tensor_names: string")
        .input("shape_and_slices: string")
        .input("tensors: dtypes")
        .stateful()
        .shape(Shapes.none())
        .asyncKernel(node -> Background.of(c -> save(c, handles)))
        .noGradient("it has no outputs")
        .build();
  }

  /** Matches a save of what other nodes read of variables. */
  static Fused match(Node last, Readers readers) {
    return last.op() == SAVE ? SavedValues.fuse(last, readers, SAVE_VARIABLES, 3, "dtypes") : null;
  }

  /**
   * Adds a node that saves {@code tensors} under {@code names}. A slice, in TensorFlow's form, says
   * which part of a whole a tensor is; the empty string says that it is the whole.
   */
  public static Node save(
      Scope scope, Output prefix, Output names, Output slices, List<Output> tensors) {
    return scope.node(SAVE).input(prefix).input(names).input(slices).inputs(tensors).add();
  }

  /** Adds a node whose outputs are the tensors of these names and types, or slices of them. */
  public static Node restore(
      Scope scope, Output prefix, Output names, Output slices, List<DType> types) {
    return scope.node(RESTORE).input(prefix).input(names).input(slices).attr("dtypes", types).add();
  }

  /** Adds a node that makes one checkpoint of those at {@code prefixes}. */
  public static Node merge(Scope scope, Output prefixes, Output destination) {
    return scope.add(MERGE, prefixes, destination);
  }

  private static void save(KernelContext c, boolean handles) {
    checkNames(c, c.inputCount() - 3);
    SavedValues values = new SavedValues(c, 3, handles);
    boolean done = false;
    while (!done) {
      try (BundleWriter writer = new BundleWriter(FileNames.at(c, 0))) {
        done = values.writeTo((tensor, i) -> add(writer, c, i, tensor));
        if (done) {
          writer.finish();
        }
      }
    }
  }

  private static void add(BundleWriter writer, KernelContext c, int i, Tensor tensor) {
    String name = c.input(1).stringAt(i);
    Optional<ShapeAndSlice> part = ShapeAndSlice.parse(c.input(2).stringAt(i));
    if (part.isPresent()) {
      writer.add(name, part.get(), tensor);
    } else {
      writer.add(name, tensor);
    }
  }

  private static void restore(KernelContext c, List<DType> types) {
    checkNames(c, types.size());
    try (BundleReader reader = new BundleReader(FileNames.at(c, 0))) {
      for (int i = 0; i < types.size(); i++) {
        c.cancellation().check();
        String name = c.input(1).stringAt(i);
        DType stored = reader.dtype(name);
        if (stored != types.get(i)) {
          throw MillraceException.invalid(
              "RestoreV2 '%s': tensor_name = %s; expected dtype %s does not equal original dtype %s"
                  + " in checkpoint '%s'.",
              c.node().name(), name, types.get(i), stored, c.input(0).stringAt(0));
        }
        Optional<ShapeAndSlice> part = ShapeAndSlice.parse(c.input(2).stringAt(i));
        c.output(
            i, part.isPresent() ? reader.readCounted(name, part.get()) : reader.readCounted(name));
      }
    }
  }

  private static void checkNames(KernelContext c, int n) {
    checkNames(c, 1, n);
    checkNames(c, 2, n);
  }

  /** Checks that input {@code i} has a string for each of {@code n} tensors. */
  static void checkNames(KernelContext c, int i, int n) {
    Shape s = c.input(i).shape();
    if (s.rank() != 1 || s.dim(0) != n) {
      throw MillraceException.invalid(
          "%s '%s': input %d (%s) must be a vector of %d strings, one for each tensor; it has"
              + " shape %s.",
          c.node().op().name(), c.node().name(), i, c.node().op().inputs().get(i).name(), n, s);
    }
  }

  private static List<Shape> restoredShapes(ShapeContext c) {
    Tensor slices = c.constant(2);
    List<Shape> shapes = new ArrayList<>();
    for (int i = 0; i < c.node().outputCount(); i++) {
      Optional<ShapeAndSlice> part =
          slices == null || i >= slices.elements()
              ? Optional.empty()
              : ShapeAndSlice.parse(slices.stringAt(i));
      shapes.add(part.map(ShapeAndSlice::sliceShape).orElse(Shape.unknown()));
    }
    return shapes;
  }
}
