package dev.millrace.tensor;

/**
 * The memory of a device: allocates the tensors its kernels write, and copies tensors between the
 * device and the host. Values travel between devices, tasks and sessions as tensors in host memory,
 * so a device needs no other copies.
 *
 * <p>Tensors of types that are not {@link DType#isPlain plain} are always in host memory: an
 * implementation passes those to {@link #HOST}.
 *
 * <p>Threading: any thread.
 */
public interface DeviceMemory {
  /** The native memory of this process, from the shared pool. */
  DeviceMemory HOST =
      new DeviceMemory() {
        @Override
        public Tensor allocate(DType dtype, Shape shape) {
          return Refs.allocate(dtype, shape);
        }

        @Override
        public Tensor toHost(Tensor value) {
          return Refs.retain(value);
        }

        @Override
        public Tensor fromHost(Tensor value) {
          return value;
        }

        @Override
        public String toString() {
          return "host memory";
        }
      };

  /** A tensor of undefined contents with one counted reference. */
  Tensor allocate(DType dtype, Shape shape);

  /** The value in host memory, with a counted reference of the caller's. Borrows {@code value}. */
  Tensor toHost(Tensor value);

  /** A value of the host in this memory. Takes over a reference to {@code value}, returns one. */
  Tensor fromHost(Tensor value);
}
