package dev.millrace.interop;

import static dev.millrace.interop.TensorFlowLibrary.INT;
import static dev.millrace.interop.TensorFlowLibrary.LONG;
import static dev.millrace.interop.TensorFlowLibrary.POINTER;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A {@code TF_Graph}: a graph as TensorFlow's C++ sees it, with its own shape inference and its own
 * symbolic gradients.
 */
final class NativeGraph implements AutoCloseable {
  /** {@code TF_Output}: one output of an operation. */
  static final StructLayout OUTPUT =
      MemoryLayout.structLayout(
          ValueLayout.ADDRESS.withName("operation"),
          INT.withName("index"),
          MemoryLayout.paddingLayout(4));

  private static final MethodHandle NEW = TensorFlowLibrary.function("TF_NewGraph", POINTER);
  private static final MethodHandle DELETE = TensorFlowLibrary.procedure("TF_DeleteGraph", POINTER);
  private static final MethodHandle NEW_OPTIONS =
      TensorFlowLibrary.function("TF_NewImportGraphDefOptions", POINTER);
  private static final MethodHandle DELETE_OPTIONS =
      TensorFlowLibrary.procedure("TF_DeleteImportGraphDefOptions", POINTER);
  private static final MethodHandle IMPORT =
      TensorFlowLibrary.procedure("TF_GraphImportGraphDef", POINTER, POINTER, POINTER, POINTER);
  private static final MethodHandle EXPORT =
      TensorFlowLibrary.procedure("TF_GraphToGraphDef", POINTER, POINTER, POINTER);
  private static final MethodHandle BY_NAME =
      TensorFlowLibrary.function("TF_GraphOperationByName", POINTER, POINTER, POINTER);
  private static final MethodHandle OPERATION_NAME =
      TensorFlowLibrary.function("TF_OperationName", POINTER, POINTER);
  private static final MethodHandle NUM_OUTPUTS =
      TensorFlowLibrary.function("TF_OperationNumOutputs", INT, POINTER);
  private static final MethodHandle OUTPUT_TYPE =
      TensorFlowLibrary.function("TF_OperationOutputType", INT, OUTPUT);
  private static final MethodHandle NUM_DIMS =
      TensorFlowLibrary.function("TF_GraphGetTensorNumDims", INT, POINTER, OUTPUT, POINTER);
  private static final MethodHandle SHAPE =
      TensorFlowLibrary.procedure("TF_GraphGetTensorShape", POINTER, OUTPUT, POINTER, INT, POINTER);
  private static final MethodHandle ADD_GRADIENTS =
      TensorFlowLibrary.procedure(
          "TF_AddGradientsWithPrefix",
          POINTER,
          POINTER,
          POINTER,
          INT,
          POINTER,
          INT,
          POINTER,
          POINTER,
          POINTER);

  private final MemorySegment handle;

  private NativeGraph(MemorySegment handle) {
    this.handle = handle;
  }

  /** Imports a serialized GraphDef. Throws TensorFlow's error if it does not accept it. */
  static NativeGraph ofGraphDef(byte[] graphDef) {
    NativeGraph graph =
        new NativeGraph(TensorFlowLibrary.get(() -> (MemorySegment) NEW.invokeExact()));
    MemorySegment options = TensorFlowLibrary.get(() -> (MemorySegment) NEW_OPTIONS.invokeExact());
    try (Status status = new Status();
        NativeBytes bytes = NativeBytes.of(graphDef)) {
      TensorFlowLibrary.run(
          () -> {
            IMPORT.invokeExact(graph.handle, bytes.handle(), options, status.handle());
          });
      status.check();
      return graph;
    } catch (RuntimeException | Error e) {
      graph.close();
      throw e;
    } finally {
      TensorFlowLibrary.run(
          () -> {
            DELETE_OPTIONS.invokeExact(options);
          });
    }
  }

  MemorySegment handle() {
    return handle;
  }

  /** The graph as it is now, serialized. */
  byte[] toGraphDef() {
    try (Status status = new Status();
        NativeBytes bytes = NativeBytes.empty()) {
      TensorFlowLibrary.run(
          () -> {
            EXPORT.invokeExact(handle, bytes.handle(), status.handle());
          });
      status.check();
      return bytes.toArray();
    }
  }

  /** The operation of this name. */
  MemorySegment operation(String name) {
    MemorySegment found = find(name);
    if (found.address() == 0) {
      throw MillraceException.invalid("No node '%s' in the graph TensorFlow has.", name);
    }
    return found;
  }

  /** How many outputs the node of this name has. */
  int outputs(String node) {
    MemorySegment operation = operation(node);
    return TensorFlowLibrary.get(() -> (int) NUM_OUTPUTS.invokeExact(operation));
  }

  /** The type of an output, {@code name:index}; that referred to if it is a reference. */
  DType dtype(String output) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment o = outputs(List.of(output), arena);
      return DType.of(TensorFlowLibrary.get(() -> (int) OUTPUT_TYPE.invokeExact(o)));
    }
  }

  /** What TensorFlow's shape inference knows of an output, {@code name:index}. */
  Shape shape(String output) {
    try (Arena arena = Arena.ofConfined();
        Status status = new Status()) {
      MemorySegment o = outputs(List.of(output), arena);
      int rank =
          TensorFlowLibrary.get(() -> (int) NUM_DIMS.invokeExact(handle, o, status.handle()));
      status.check();
      if (rank < 0) {
        return Shape.unknown();
      }
      MemorySegment dims = arena.allocate(LONG, Math.max(1, rank));
      TensorFlowLibrary.run(
          () -> {
            SHAPE.invokeExact(handle, o, dims, rank, status.handle());
          });
      status.check();
      return Shape.of(dims.asSlice(0, 8L * rank).toArray(LONG));
    }
  }

  /**
   * Adds the gradients of the sum of {@code ys} by each of {@code xs} below the name scope {@code
   * prefix}. The answer leads from each x to its gradient; an x without one is missing.
   */
  Map<String, String> addGradients(String prefix, List<String> ys, List<String> xs) {
    try (Arena arena = Arena.ofConfined();
        Status status = new Status()) {
      MemorySegment scope = arena.allocateFrom(prefix);
      MemorySegment y = outputs(ys, arena);
      MemorySegment x = outputs(xs, arena);
      MemorySegment dx = arena.allocate(OUTPUT, xs.size());
      TensorFlowLibrary.run(
          () -> {
            ADD_GRADIENTS.invokeExact(
                handle, scope, y, ys.size(), x, xs.size(), MemorySegment.NULL, status.handle(), dx);
          });
      status.check();
      Map<String, String> gradients = new LinkedHashMap<>();
      for (int i = 0; i < xs.size(); i++) {
        MemorySegment operation = dx.get(ValueLayout.ADDRESS, i * OUTPUT.byteSize());
        if (operation.address() != 0) {
          int index = dx.get(INT, i * OUTPUT.byteSize() + 8);
          gradients.put(xs.get(i), name(operation) + ":" + index);
        }
      }
      return gradients;
    }
  }

  /** An array of {@code TF_Output} for these names: {@code node} or {@code node:index}. */
  MemorySegment outputs(List<String> names, Arena arena) {
    MemorySegment array = arena.allocate(OUTPUT, Math.max(1, names.size()));
    for (int i = 0; i < names.size(); i++) {
      String name = names.get(i);
      int colon = name.lastIndexOf(':');
      String node = colon < 0 ? name : name.substring(0, colon);
      int index = colon < 0 ? 0 : Integer.parseInt(name.substring(colon + 1));
      if (index >= outputs(node)) {
        throw MillraceException.invalid(
            "No output '%s': node '%s' has %d outputs.", name, node, outputs(node));
      }
      array.set(ValueLayout.ADDRESS, i * OUTPUT.byteSize(), operation(node));
      array.set(INT, i * OUTPUT.byteSize() + 8, index);
    }
    return array;
  }

  @Override
  public void close() {
    TensorFlowLibrary.run(
        () -> {
          DELETE.invokeExact(handle);
        });
  }

  private MemorySegment find(String name) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment n = arena.allocateFrom(name);
      return TensorFlowLibrary.get(() -> (MemorySegment) BY_NAME.invokeExact(handle, n));
    }
  }

  private static String name(MemorySegment operation) {
    return TensorFlowLibrary.string(
        TensorFlowLibrary.get(() -> (MemorySegment) OPERATION_NAME.invokeExact(operation)));
  }
}
