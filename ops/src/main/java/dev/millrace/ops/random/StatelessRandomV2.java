package dev.millrace.ops.random;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Op;
import dev.millrace.graph.ShapeContext;
import dev.millrace.ops.array.Axis;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.random.Philox;
import dev.millrace.tensor.math.random.RandomFill;
import java.util.List;
import java.util.stream.Stream;

/**
 * Random numbers that depend on nothing but a key and a counter, as TensorFlow 2 asks for them, and
 * the integers that depend on a seed alone.
 */
public final class StatelessRandomV2 {
  private static final List<Op> NUMBERS =
      List.of(
          real("StatelessRandomUniformV2", RandomFill::uniform),
          real("StatelessRandomNormalV2", RandomFill::normal),
          real("StatelessTruncatedNormalV2", RandomFill::truncatedNormal),
          whole("StatelessRandomUniformIntV2", true, true),
          whole("StatelessRandomUniformFullIntV2", true, false),
          whole("StatelessRandomUniformInt", false, true),
          whole("StatelessRandomUniformFullInt", false, false));

  /** The ops that are loaded on demand. */
  public static final List<Op> ALL =
      Stream.of(StatelessKeys.ALL, NUMBERS, List.of(Multinomial.STATELESS))
          .flatMap(List::stream)
          .toList();

  private StatelessRandomV2() {}

  private static Op real(String name, RandomNumbers.Distribution d) {
    return keyed(Op.define(name).attr("dtype: {half, bfloat16, float, double} = float"))
        .output("output: dtype")
        .shape(c -> infer(c, true))
        .kernel(c -> d.fill(StatelessKeys.ofKey(c), c.allocate(0, Axis.shape(c.input(0)))))
        .noGradient(StatelessKeys.WHY)
        .build();
  }

  private static Op.Builder keyed(Op.Builder op) {
    return op.attr("Tshape: {int32, int64} = int32")
        .input("shape: Tshape")
        .input("key: uint64")
        .input("counter: uint64")
        .input("alg: int32");
  }

  private static Op whole(String name, boolean isKeyed, boolean hasRange) {
    Op.Builder op = Op.define(name);
    if (isKeyed) {
      op.attr(
          hasRange
              ? "dtype: {int32, int64, uint32, uint64}"
              : "dtype: {int32, int64, uint32, uint64} = uint64");
      keyed(op);
    } else {
      op.attr(hasRange ? "dtype: {int32, int64}" : "dtype: {int32, int64, uint32, uint64} = uint64")
          .attr(hasRange ? "T: {int32, int64}" : "T: {int32, int64} = int32")
          .attr(
              hasRange
                  ? "Tseed: {int32, int64} = int64"
                  : "Tseed: {int32, int64, uint32, uint64} = int64")
          .input("shape: T")
          .input("seed: Tseed");
    }
    int range = isKeyed ? 4 : 2;
    if (hasRange) {
      op.input("minval: dtype").input("maxval: dtype");
    }
    return op.output("output: dtype")
        .shape(
            c -> {
              if (hasRange) {
                c.inputOfRank(range, 0);
                c.inputOfRank(range + 1, 0);
              }
              return infer(c, isKeyed);
            })
        .kernel(
            c -> {
              Shape s = Axis.shape(c.input(0));
              Philox source = isKeyed ? StatelessKeys.ofKey(c) : StatelessKeys.ofSeed(c.input(1));
              fill(c, s, source, hasRange ? range : -1);
            })
        .noGradient(StatelessKeys.WHY)
        .build();
  }

  private static List<Shape> infer(ShapeContext c, boolean isKeyed) {
    c.inputOfRank(0, 1);
    if (isKeyed) {
      c.inputOfRank(1, 1).mergeWith(Shape.of(1));
      c.inputOfRank(2, 1);
      c.inputOfRank(3, 0);
    } else {
      c.inputOfRank(1, 1).mergeWith(Shape.of(2));
    }
    return List.of(c.constantAsShape(0));
  }

  /** All bits of the sequence, or their remainder within what inputs from {@code range} on say. */
  private static void fill(KernelContext c, Shape s, Philox source, int range) {
    Tensor out = c.allocate(0, s);
    boolean isWide = out.dtype().bytes() == 8;
    long low = range < 0 ? 0 : Axis.single(c.input(range), "minval");
    long high = range < 0 ? 0 : Axis.single(c.input(range + 1), "maxval");
    boolean isEmpty =
        out.dtype() == DType.UINT64 ? Long.compareUnsigned(low, high) >= 0 : low >= high;
    if (range >= 0 && isEmpty && out.elements() > 0) {
      throw MillraceException.invalid("Need minval < maxval, got %d >= %d", low, high);
    }
    int[] four = new int[4];
    int each = isWide ? 2 : 4;
    for (long i = 0; i < out.elements(); i++) {
      int k = (int) (i % each);
      if (k == 0) {
        source.at(i / each, four, 0);
      }
      long bits =
          isWide
              ? (four[2 * k] & 0xFFFFFFFFL) | (long) four[2 * k + 1] << 32
              : four[k] & 0xFFFFFFFFL;
      long width = isWide ? high - low : high - low & 0xFFFFFFFFL;
      out.setLong(i, range < 0 ? bits : low + Long.remainderUnsigned(bits, width));
    }
  }
}
