package dev.millrace.interop;

import dev.millrace.base.MillraceException;
import dev.millrace.proto.RunOptions;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A step of {@link RealTensorFlow} whose names have been looked up once, so that running it again
 * costs hardly more than TensorFlow itself does.
 *
 * <p>Threading: one thread at a time; several prepared steps of one session may run at once.
 */
public final class PreparedStep implements AutoCloseable {
  private final Arena arena = Arena.ofShared();
  private final Status status = new Status();
  private final NativeSession session;
  private final NativeSession.Arguments arguments;
  private final NativeBytes runOptions;
  private List<NativeTensor> bound = List.of();

  PreparedStep(
      NativeGraph graph,
      NativeSession session,
      Duration timeout,
      List<String> feeds,
      List<String> fetches,
      List<String> targets) {
    this.session = session;
    this.runOptions =
        timeout.isZero()
            ? null
            : NativeBytes.of(
                RunOptions.newBuilder().setTimeoutInMs(timeout.toMillis()).build().toByteArray());
    try {
      MemorySegment operations = arena.allocate(ValueLayout.ADDRESS, Math.max(1, targets.size()));
      for (int i = 0; i < targets.size(); i++) {
        operations.setAtIndex(ValueLayout.ADDRESS, i, graph.operation(targets.get(i)));
      }
      this.arguments =
          new NativeSession.Arguments(
              runOptions == null ? MemorySegment.NULL : runOptions.handle(),
              graph.outputs(feeds, arena),
              arena.allocate(ValueLayout.ADDRESS, Math.max(1, feeds.size())),
              feeds.size(),
              graph.outputs(fetches, arena),
              arena.allocate(ValueLayout.ADDRESS, Math.max(1, fetches.size())),
              fetches.size(),
              operations,
              targets.size());
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  /** Sets the values of the feeds for the runs to come, in the order their names were given. */
  public PreparedStep bind(List<Tensor> values) {
    if (values.size() != arguments.feedCount()) {
      throw MillraceException.invalid(
          "%d feed values for %d feeds.", values.size(), arguments.feedCount());
    }
    List<NativeTensor> tensors = new ArrayList<>();
    for (Tensor value : values) {
      tensors.add(NativeTensor.of(value));
    }
    bound.forEach(NativeTensor::close);
    bound = tensors;
    for (int i = 0; i < tensors.size(); i++) {
      arguments.feedValues().setAtIndex(ValueLayout.ADDRESS, i, tensors.get(i).handle());
    }
    return this;
  }

  /** Runs the step and drops what it fetches. Throws TensorFlow's error if it fails. */
  public void run() {
    step();
    for (NativeTensor fetched : fetched()) {
      fetched.close();
    }
  }

  /** Runs the step. Copies of the fetches, in the order their names were given. */
  public List<Tensor> fetch() {
    step();
    List<Tensor> tensors = new ArrayList<>();
    for (NativeTensor fetched : fetched()) {
      try (fetched) {
        tensors.add(fetched.toTensor());
      }
    }
    return tensors;
  }

  @Override
  public void close() {
    bound.forEach(NativeTensor::close);
    bound = List.of();
    if (runOptions != null) {
      runOptions.close();
    }
    status.close();
    arena.close();
  }

  private void step() {
    if (bound.size() != arguments.feedCount()) {
      throw MillraceException.invalid("%d feeds have no value yet.", arguments.feedCount());
    }
    session.run(arguments, status);
  }

  private List<NativeTensor> fetched() {
    List<NativeTensor> tensors = new ArrayList<>(arguments.fetchCount());
    for (int i = 0; i < arguments.fetchCount(); i++) {
      tensors.add(
          NativeTensor.ofHandle(arguments.fetchValues().getAtIndex(ValueLayout.ADDRESS, i)));
    }
    return tensors;
  }
}
