package dev.millrace.runtime.device;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.AsyncKernel;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.tensor.DeviceMemory;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * A kind of device, such as the CPU: its memory and its kernels. An op says what is computed; the
 * kernel for a device says how, in the memory of that device. {@link #HOST} runs the kernels that
 * ops are defined with. Another kind brings its own; {@link java.util.ServiceLoader} finds it on
 * the class path of a server by the file {@code
 * META-INF/services/dev.millrace.runtime.device.DeviceKind}.
 *
 * <p>Kernels are chosen when a graph is compiled, never during a step.
 *
 * <p>Threading: any thread.
 */
public interface DeviceKind {
  /** The CPU with the native memory of this process: runs every op. */
  DeviceKind HOST =
      new DeviceKind() {
        @Override
        public String name() {
          return "CPU";
        }

        @Override
        public DeviceMemory open(int index) {
          return DeviceMemory.HOST;
        }

        @Override
        public Map<String, Function<Node, Kernel>> kernels() {
          return Map.of();
        }

        @Override
        public boolean supports(Op op) {
          return true;
        }

        @Override
        public String toString() {
          return name();
        }
      };

  /** The type in device names, in capital letters: {@code CPU}. */
  String name();

  /** How many devices of this kind a server has unless its configuration says otherwise. */
  default int available() {
    return 1;
  }

  /** The memory of device number {@code index} of a task. Called once per device. */
  DeviceMemory open(int index);

  /** What makes the kernel of a node, by the name of its op. The same map on every call. */
  Map<String, Function<Node, Kernel>> kernels();

  /** Whether nodes of this op can run on such a device. */
  default boolean supports(Op op) {
    return op.runsOnAnyDevice() || kernels().containsKey(op.name());
  }

  /** The kernel for {@code node}, made once per node. */
  default Kernel kernelFor(Node node) {
    Function<Node, Kernel> own = kernels().get(node.op().name());
    if (own != null) {
      return own.apply(node);
    }
    checkSupported(node);
    return node.op().kernelFor(node);
  }

  /** The kernel for {@code node}, whose op has one that completes later. */
  default AsyncKernel asyncKernelFor(Node node) {
    checkSupported(node);
    return node.op().asyncKernelFor(node);
  }

  private void checkSupported(Node node) {
    if (!supports(node.op())) {
      throw MillraceException.invalid(
          "Op '%s' of node '%s' has no kernel for %s devices; they run %s. Place the node on a CPU,"
              + " or allow soft placement.",
          node.op().name(), node.name(), name(), new TreeSet<>(kernels().keySet()));
    }
  }
}
