package dev.millrace.ops.bits;

import dev.millrace.graph.Op;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.elementwise.BinaryOp;
import dev.millrace.tensor.math.elementwise.BroadcastIndex;
import dev.millrace.tensor.math.elementwise.Elementwise;
import java.util.List;

/** Whole numbers combined bit by bit, shifted and counted. */
final class Bitwise {
  private static final String WHOLE =
      "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}";
  private static final String REASON = "whole numbers are not differentiable";

  static final List<Op> ALL =
      List.of(
          binary("BitwiseAnd", BinaryOp.AND),
          binary("BitwiseOr", BinaryOp.OR),
          binary("BitwiseXor", BinaryOp.XOR),
          shift("LeftShift", true),
          shift("RightShift", false),
          Op.define("Invert")
              .attr(WHOLE)
              .input("x: T")
              .output("y: T")
              .shape(Shapes.like(0))
              .kernel(
                  c -> {
                    Tensor x = c.input(0);
                    Tensor y = c.allocate(0, x.shape());
                    for (long i = 0; i < x.elements(); i++) {
                      y.setLong(i, ~x.longAt(i));
                    }
                  })
              .noGradient(REASON)
              .build(),
          Op.define("PopulationCount")
              .attr(WHOLE)
              .input("x: T")
              .output("y: uint8")
              .shape(Shapes.like(0))
              .kernel(
                  c -> {
                    Tensor x = c.input(0);
                    long mask = mask(x.dtype());
                    Tensor y = c.allocate(0, x.shape());
                    for (long i = 0; i < x.elements(); i++) {
                      y.setLong(i, Long.bitCount(x.longAt(i) & mask));
                    }
                  })
              .noGradient(REASON)
              .build());

  private Bitwise() {}

  private static Op binary(String name, BinaryOp f) {
    return define(name)
        .commutative()
        .kernel(
            c -> {
              Tensor x = c.input(0);
              Tensor y = c.input(1);
              Shape s = Shape.broadcast(x.shape(), y.shape());
              Elementwise.binary(f, x, y, c.allocate(0, s));
            })
        .build();
  }

  /** A shift by less than 0 or too much is one by 0 or by all bits but one, as in TensorFlow. */
  private static Op shift(String name, boolean left) {
    return define(name)
        .kernel(
            c -> {
              Tensor x = c.input(0);
              Tensor y = c.input(1);
              Shape s = Shape.broadcast(x.shape(), y.shape());
              BroadcastIndex ofX = new BroadcastIndex(x.shape(), s);
              BroadcastIndex ofY = new BroadcastIndex(y.shape(), s);
              DType type = x.dtype();
              int last = 8 * type.bytes() - 1;
              Tensor z = c.allocate(0, s);
              for (long i = 0; i < s.elements(); i++) {
                long by = y.longAt(ofY.of(i));
                boolean isLarge = type.isUnsigned() && by < 0 || by > last;
                int shift = isLarge ? last : (int) Math.max(by, 0);
                long v = x.longAt(ofX.of(i));
                z.setLong(i, left ? v << shift : type == DType.UINT64 ? v >>> shift : v >> shift);
              }
            })
        .build();
  }

  private static Op.Builder define(String name) {
    return Op.define(name)
        .attr(WHOLE)
        .input("x: T")
        .input("y: T")
        .output("z: T")
        .shape(Shapes.broadcast())
        .noGradient(REASON);
  }

  private static long mask(DType type) {
    return type.bytes() == 8 ? -1 : (1L << 8 * type.bytes()) - 1;
  }
}
