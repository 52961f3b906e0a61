package dev.millrace.interop;

import static dev.millrace.interop.TensorFlowLibrary.POINTER;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.OpList;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A graph in TensorFlow's own C++ runtime, inside this process: its shape inference, its gradients
 * and a session on it, local or at a server. Errors are TensorFlow's, with its code and message.
 *
 * <p>Threading: steps may run from several threads at once; adding gradients and closing must not
 * happen beside anything else.
 */
public final class RealTensorFlow implements AutoCloseable {
  private static final MethodHandle VERSION = TensorFlowLibrary.function("TF_Version", POINTER);
  private static final MethodHandle OPS = TensorFlowLibrary.function("TF_GetAllOpList", POINTER);

  private static final MethodHandle KERNELS =
      TensorFlowLibrary.function("TF_GetRegisteredKernelsForOp", POINTER, POINTER, POINTER);

  private final NativeGraph graph;
  private final TensorFlowSessionOptions options;
  private NativeSession session;
  private int gradients;

  private RealTensorFlow(NativeGraph graph, TensorFlowSessionOptions options) {
    this.graph = graph;
    this.options = options;
  }

  /** Imports a graph into the runtime of this process. */
  public static RealTensorFlow of(GraphDef graph) {
    return of(graph, TensorFlowSessionOptions.local());
  }

  /** Imports a graph; the session is opened with these options at the first step. */
  public static RealTensorFlow of(GraphDef graph, TensorFlowSessionOptions options) {
    return new RealTensorFlow(NativeGraph.ofGraphDef(graph.toByteArray()), options);
  }

  /** The version of TensorFlow, such as {@code 2.18.0}. */
  public static String version() {
    return TensorFlowLibrary.string(
        TensorFlowLibrary.get(() -> (MemorySegment) VERSION.invokeExact()));
  }

  /** Every op TensorFlow has registered, with signature, attributes and defaults. */
  public static OpList ops() {
    try (NativeBytes bytes =
        NativeBytes.ofHandle(TensorFlowLibrary.get(() -> (MemorySegment) OPS.invokeExact()))) {
      return OpList.parseFrom(bytes.toArray());
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The kernels TensorFlow has for an op: a serialized {@code KernelList}. */
  public static ByteString kernels(String op) {
    try (Arena arena = Arena.ofConfined();
        Status status = new Status()) {
      MemorySegment name = arena.allocateFrom(op);
      MemorySegment list =
          TensorFlowLibrary.get(() -> (MemorySegment) KERNELS.invokeExact(name, status.handle()));
      status.check();
      try (NativeBytes bytes = NativeBytes.ofHandle(list)) {
        return ByteString.copyFrom(bytes.toArray());
      }
    }
  }

  /**
   * Runs one step. Outputs are named {@code node:index}, or {@code node} for the first one.
   *
   * @return copies of the fetches, in their order
   */
  public List<Tensor> run(Map<String, Tensor> feeds, List<String> fetches, List<String> targets) {
    List<String> names = List.copyOf(feeds.keySet());
    List<Tensor> values = new ArrayList<>();
    names.forEach(name -> values.add(feeds.get(name)));
    try (PreparedStep step = prepare(names, fetches, targets)) {
      return step.bind(values).fetch();
    }
  }

  /** Runs one step for its effect. */
  public void run(String... targets) {
    run(Map.of(), List.of(), List.of(targets));
  }

  /** A step to be run many times. Close it before this. */
  public PreparedStep prepare(List<String> feeds, List<String> fetches, List<String> targets) {
    return new PreparedStep(graph, session(), options.stepTimeout(), feeds, fetches, targets);
  }

  /** How many outputs the node of this name has. */
  public int outputs(String node) {
    return graph.outputs(node);
  }

  /** The element type of an output. */
  public DType dtype(String output) {
    return graph.dtype(output);
  }

  /** What TensorFlow's static shape inference knows of an output. */
  public Shape inferredShape(String output) {
    return graph.shape(output);
  }

  /**
   * Adds TensorFlow's symbolic gradients: of the sum of all elements of all {@code ys} by each of
   * {@code xs}. TensorFlow refuses an x that no y depends on, and a path through an op it has no
   * gradient for in C++.
   *
   * @return from each x to the output that is its gradient; missing where that is known to be zero
   */
  public Map<String, String> addGradients(List<String> ys, List<String> xs) {
    return graph.addGradients("gradients_" + gradients++, ys, xs);
  }

  /** The graph as TensorFlow has it now, gradients included. */
  public GraphDef graphDef() {
    try {
      return GraphDef.parseFrom(graph.toGraphDef());
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public synchronized void close() {
    if (session != null) {
      session.close();
    }
    graph.close();
  }

  private synchronized NativeSession session() {
    if (session == null) {
      session = NativeSession.open(graph, options);
    }
    return session;
  }
}
