package dev.millrace.tensor.math.conv;

import dev.millrace.tensor.Buffer;
import dev.millrace.tensor.BufferPool;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.math.elementwise.AddScaled;
import dev.millrace.tensor.math.onednn.OneDnnLayout;
import dev.millrace.tensor.math.onednn.OneDnnObject;
import dev.millrace.tensor.math.onednn.OneDnnPrimitive;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * One of the three computations of a convolution, compiled by oneDNN for one shape. The filter is
 * small and copied into the layout that oneDNN likes best, or back. Images stay as they are,
 * channels last, unless oneDNN has no good loops for that.
 *
 * <p>Threading: may be run by several threads at once, each on memory of its own.
 */
final class OneDnnConv {
  private record Key(Conv2D conv, ConvResult result) {}

  /** Compiled convolutions; empty where oneDNN has none for the shape. */
  private static final Map<Key, Optional<OneDnnConv>> COMPILED = new ConcurrentHashMap<>();

  /** A program with more shapes than this compiles again what it has used before. */
  private static final int MAX_COMPILED = 512;

  private static final int FORWARD_TRAINING = 64;
  private static final int DIRECT = 1;

  private final OneDnnPrimitive primitive;
  private final Side input;
  private final Side filter;
  private final Side output;

  private OneDnnConv(Conv2D c, ConvResult result, long description) {
    boolean forward = result == ConvResult.OUTPUT;
    boolean toInput = result == ConvResult.INPUT;
    boolean toFilter = result == ConvResult.FILTER;
    this.primitive =
        new OneDnnPrimitive(
            description,
            toInput ? OneDnnPrimitive.SOURCE_GRADIENT : OneDnnPrimitive.SOURCE,
            toFilter ? OneDnnPrimitive.WEIGHTS_GRADIENT : OneDnnPrimitive.WEIGHTS,
            forward ? OneDnnPrimitive.TARGET : OneDnnPrimitive.TARGET_GRADIENT);
    this.input = new Side(inputLayout(c), primitive.layout(0), toInput);
    this.filter = new Side(filterLayout(c), primitive.layout(1), toFilter);
    this.output = new Side(outputLayout(c), primitive.layout(2), forward);
  }

  /** The compiled convolution, or null if oneDNN cannot do it. */
  static OneDnnConv of(Conv2D conv, ConvResult result) {
    Key key = new Key(conv, result);
    Optional<OneDnnConv> found = COMPILED.get(key);
    if (found == null) {
      if (COMPILED.size() >= MAX_COMPILED) {
        COMPILED.clear();
      }
      found = COMPILED.computeIfAbsent(key, OneDnnConv::compile);
    }
    return found.orElse(null);
  }

  /** Prepares to run with this filter, or to compute its gradient into it. */
  ConvRuns runs(MemorySegment filter) {
    return new Runs(filter.address());
  }

  private final class Runs implements ConvRuns {
    private final long filterAt;
    private final Buffer filterCopy = filter.allocate();

    /** Where the primitive finds or leaves the filter. */
    private final long at;

    /** The gradient of the filter by one more lot of images; null until there is a second. */
    private Buffer more;

    private boolean first = true;

    Runs(long filterAt) {
      this.filterAt = filterAt;
      this.at = filter.before(filterAt, filterCopy);
    }

    @Override
    public void run(MemorySegment in, MemorySegment out) {
      if (!filter.result) {
        execute(in.address(), at, out.address());
        return;
      }
      if (first) {
        first = false;
        execute(in.address(), at, out.address());
        return;
      }
      if (more == null) {
        more = BufferPool.current().allocate(filter.bytes);
      }
      execute(in.address(), more.memory().address(), out.address());
      AddScaled.plain(
          DType.FLOAT,
          MemorySegment.ofAddress(at).reinterpret(filter.bytes),
          more.memory(),
          filter.bytes / Float.BYTES);
    }

    private void execute(long inputAt, long filterIn, long outputAt) {
      Buffer inputCopy = input.allocate();
      Buffer outputCopy = output.allocate();
      try {
        primitive.run(
            input.before(inputAt, inputCopy), filterIn, output.before(outputAt, outputCopy));
        input.after(inputAt, inputCopy);
        output.after(outputAt, outputCopy);
      } finally {
        Side.release(inputCopy);
        Side.release(outputCopy);
      }
    }

    @Override
    public void finish() {
      filter.after(filterAt, filterCopy);
    }

    @Override
    public void close() {
      Side.release(filterCopy);
      Side.release(more);
    }
  }

  private static Optional<OneDnnConv> compile(Key key) {
    Conv2D c = key.conv;
    ConvResult result = key.result;
    int area = c.rows().size() * c.columns().size();
    // Without AVX-512 large filters are a quarter faster on blocks of eight channels.
    boolean blocked =
        !OneDnnObject.AVX512
            && area >= 25
            && c.groups() == 1
            && c.channels() % 8 == 0
            && c.filters() % 8 == 0
            && result != ConvResult.FILTER;
    // With few channels the gradient of the input is up to twice as fast with the filter as it is.
    boolean plainFilter = result == ConvResult.INPUT && c.groups() == 1 && c.channels() <= 4;
    OneDnnLayout in = blocked ? OneDnnLayout.any(inputDims(c)) : inputLayout(c);
    OneDnnLayout out = blocked ? OneDnnLayout.any(outputDims(c)) : outputLayout(c);
    OneDnnLayout filter = plainFilter ? filterLayout(c) : OneDnnLayout.any(filterDims(c));
    long forward = describe(c, ConvResult.OUTPUT, in, filter, out, 0);
    long description = forward;
    if (forward != 0 && result != ConvResult.OUTPUT) {
      description = describe(c, result, in, filter, out, forward);
      OneDnnObject.destroy("primitive_desc", forward);
    }
    return description == 0
        ? Optional.empty()
        : Optional.of(new OneDnnConv(c, result, description));
  }

  /** oneDNN's description of the computation, or 0; the backward ones want the forward one. */
  private static long describe(
      Conv2D c,
      ConvResult result,
      OneDnnLayout in,
      OneDnnLayout filter,
      OneDnnLayout out,
      long forward) {
    boolean toInput = result == ConvResult.INPUT;
    Window rows = c.rows();
    Window columns = c.columns();
    List<Object> arguments = new ArrayList<>();
    arguments.add(OneDnnObject.ENGINE);
    if (forward == 0) {
      arguments.add(FORWARD_TRAINING);
    }
    arguments.add(DIRECT);
    arguments.add(in.handle());
    arguments.add(filter.handle());
    if (!toInput) {
      arguments.add(0L); // no bias
    }
    arguments.add(out.handle());
    try (Arena arena = Arena.ofConfined()) {
      arguments.add(OneDnnLayout.pointer(arena, rows.stride(), columns.stride()));
      arguments.add(OneDnnLayout.pointer(arena, rows.dilation() - 1, columns.dilation() - 1));
      arguments.add(OneDnnLayout.pointer(arena, rows.before(), columns.before()));
      arguments.add(OneDnnLayout.pointer(arena, rows.after(), columns.after()));
      if (forward != 0) {
        arguments.add(forward);
      }
      arguments.add(OneDnnPrimitive.ATTRIBUTES);
      String name = forward == 0 ? "forward" : toInput ? "backward_data" : "backward_weights";
      return OneDnnObject.tryCreateWith(
          "dnnl_convolution_" + name + "_primitive_desc_create", arguments.toArray());
    }
  }

  // oneDNN's dimensions are batch, channels, rows, columns, whatever the strides.

  private static long[] inputDims(Conv2D c) {
    return new long[] {c.batch(), c.channels(), c.height(), c.width()};
  }

  /** With groups these come first, and each has its own filters and channels. */
  private static long[] filterDims(Conv2D c) {
    int groups = c.groups();
    int rows = c.rows().size();
    int columns = c.columns().size();
    return groups == 1
        ? new long[] {c.filters(), c.channels(), rows, columns}
        : new long[] {groups, c.filters() / groups, c.channels() / groups, rows, columns};
  }

  private static long[] outputDims(Conv2D c) {
    return new long[] {c.batch(), c.filters(), c.outputHeight(), c.outputWidth()};
  }

  private static OneDnnLayout inputLayout(Conv2D c) {
    return channelsLast(inputDims(c));
  }

  private static OneDnnLayout outputLayout(Conv2D c) {
    return channelsLast(outputDims(c));
  }

  private static OneDnnLayout channelsLast(long[] dims) {
    long row = dims[3] * dims[1];
    return OneDnnLayout.strided(dims, new long[] {dims[2] * row, 1, row, dims[1]});
  }

  private static OneDnnLayout filterLayout(Conv2D c) {
    long filters = c.filters();
    long position = c.channels() / c.groups() * filters;
    long row = c.columns().size() * position;
    return OneDnnLayout.strided(
        filterDims(c),
        c.groups() == 1
            ? new long[] {1, filters, row, position}
            : new long[] {filters / c.groups(), 1, filters, row, position});
  }

  /** An array of the caller's and its copy in the primitive's layout, where that is another. */
  private static final class Side {
    private final OneDnnPrimitive reorder;
    private final long bytes;
    private final boolean result;

    Side(OneDnnLayout callers, OneDnnLayout primitives, boolean result) {
      this.result = result;
      this.bytes = primitives.byteSize();
      if (callers.isSameAs(primitives)) {
        this.reorder = null;
      } else if (result) {
        this.reorder = OneDnnPrimitive.reorder(primitives, callers);
      } else {
        this.reorder = OneDnnPrimitive.reorder(callers, primitives);
      }
    }

    Buffer allocate() {
      return reorder == null ? null : BufferPool.current().allocate(bytes);
    }

    static void release(Buffer copy) {
      if (copy != null) {
        copy.release();
      }
    }

    /** Where the primitive finds the array. */
    long before(long at, Buffer copy) {
      if (copy == null) {
        return at;
      }
      long copyAt = copy.memory().address();
      if (!result) {
        reorder.run(at, copyAt, 0);
      }
      return copyAt;
    }

    void after(long at, Buffer copy) {
      if (copy != null && result) {
        reorder.run(copy.memory().address(), at, 0);
      }
    }
  }
}
