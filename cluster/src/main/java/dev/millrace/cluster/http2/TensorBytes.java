package dev.millrace.cluster.http2;

import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import io.grpc.netty.shaded.io.netty.buffer.ByteBufAllocator;
import io.grpc.netty.shaded.io.netty.buffer.UnpooledDirectByteBuf;

/**
 * The elements of a tensor on their way to a socket. The tensor is released when the last slice is:
 * a stream may end while some of them still wait to be written.
 */
final class TensorBytes extends UnpooledDirectByteBuf {
  private final Tensor tensor;

  /** Takes over one counted reference. */
  TensorBytes(ByteBufAllocator allocator, Tensor tensor) {
    super(allocator, tensor.data().asByteBuffer(), Math.toIntExact(tensor.byteSize()));
    this.tensor = tensor;
  }

  @Override
  protected void deallocate() {
    super.deallocate();
    Refs.release(tensor);
  }
}
