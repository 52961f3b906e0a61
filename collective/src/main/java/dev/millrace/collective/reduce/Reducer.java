package dev.millrace.collective.reduce;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import java.lang.foreign.MemorySegment;

/**
 * Applies one {@link ReduceOp} to elements of one type in native memory. The result of an element
 * depends on its operands and their order alone, not on its place or on how a range is cut into
 * calls, so ranks that reduce the same values in the same order agree to the bit.
 *
 * <p>Sixteen-bit floats are computed in float and rounded after every operation.
 *
 * <p>Threading: stateless; any thread may use it.
 */
public abstract class Reducer {
  /**
   * Bytes of one operand a multi-operand reduction works on at a time, of two operands and of more:
   * all fit the first cache, and memory is fetched for all of them at about the same time. Larger
   * blocks leave memory idle while they are worked on, smaller ones cost more than they gain.
   */
  private static final long PAIR_BLOCK_BYTES = 8 << 10;

  private static final long BLOCK_BYTES = 2 << 10;

  private final ReduceOp op;
  private final int elementBytes;

  Reducer(ReduceOp op, int elementBytes) {
    this.op = op;
    this.elementBytes = elementBytes;
  }

  /** The reducer of this type and operation; refuses those that make no sense together. */
  public static Reducer of(DType dtype, ReduceOp op) {
    boolean ordered = op == ReduceOp.MIN || op == ReduceOp.MAX;
    return switch (dtype) {
      case FLOAT -> new FloatReducer(op, 4);
      case DOUBLE -> new DoubleReducer(op, 8);
      case INT32 -> new IntReducer(op, false);
      case UINT32 -> new IntReducer(op, true);
      case INT64 -> new LongReducer(op, false);
      case UINT64 -> new LongReducer(op, true);
      case INT8, UINT8 -> new ByteReducer(op, dtype == DType.UINT8);
      case INT16, UINT16 -> new ShortReducer(op, dtype == DType.UINT16);
      case HALF -> new HalfReducer(op);
      case BFLOAT16 -> new Bfloat16Reducer(op);
      case BOOL -> {
        if (!ordered) {
          throw MillraceException.invalid(
              "%s of bool is not defined. Use MIN for 'all true', MAX for 'any true', or cast to"
                  + " int32.",
              op);
        }
        yield new ByteReducer(op, true);
      }
      case COMPLEX64, COMPLEX128 -> complex(dtype, op, ordered);
      default ->
          throw MillraceException.invalid(
              "%s of %s is not defined: a reduction needs a numeric type or bool.", op, dtype);
    };
  }

  private static Reducer complex(DType dtype, ReduceOp op, boolean ordered) {
    if (ordered) {
      throw MillraceException.invalid(
          "%s of %s is not defined: complex numbers have no order.", op, dtype);
    }
    if (op == ReduceOp.PRODUCT) {
      return new ComplexProduct(dtype);
    }
    return dtype == DType.COMPLEX64 ? new FloatReducer(op, 8) : new DoubleReducer(op, 16);
  }

  /** What this computes. */
  public final ReduceOp op() {
    return op;
  }

  /** Bytes of one element. */
  public final int elementBytes() {
    return elementBytes;
  }

  /**
   * Stores {@code a op b} for {@code bytes} bytes of elements. {@code out} may be exactly {@code a}
   * or exactly {@code b}, but must not overlap them otherwise.
   */
  public final void apply(
      MemorySegment a,
      long aAt,
      MemorySegment b,
      long bAt,
      MemorySegment out,
      long outAt,
      long bytes) {
    loop(a, aAt, b, bAt, out, outAt, bytes);
  }

  /** Ends a reduction over {@code ranks} values: divides an average, leaves the others alone. */
  public final void finish(MemorySegment x, long at, long bytes, int ranks) {
    if (op == ReduceOp.AVERAGE && ranks > 1) {
      divide(x, at, bytes, ranks);
    }
  }

  /**
   * Reduces the same range of several operands from first to last, ends the reduction over {@code
   * ranks} values (0: leaves it open) and stores the result to every target. The first target may
   * be exactly the first operand and no other; further targets may be any operand.
   *
   * <p>It works block by block, so that each operand is read from memory once.
   */
  public final void chain(Operands operands, Operands targets, long bytes, int ranks) {
    MemorySegment out = targets.segment(0);
    long block = operands.count() <= 2 ? PAIR_BLOCK_BYTES : BLOCK_BYTES;
    for (long done = 0; done < bytes; done += block) {
      long n = Math.min(block, bytes - done);
      long outAt = targets.at(0) + done;
      if (operands.count() == 1) {
        MemorySegment.copy(operands.segment(0), operands.at(0) + done, out, outAt, n);
      }
      for (int i = 1; i < operands.count(); i++) {
        MemorySegment left = i == 1 ? operands.segment(0) : out;
        long leftAt = i == 1 ? operands.at(0) + done : outAt;
        loop(left, leftAt, operands.segment(i), operands.at(i) + done, out, outAt, n);
      }
      finish(out, outAt, n, ranks);
      for (int t = 1; t < targets.count(); t++) {
        MemorySegment.copy(out, outAt, targets.segment(t), targets.at(t) + done, n);
      }
    }
  }

  /** The pairwise loop; see {@link #apply}. */
  abstract void loop(
      MemorySegment a,
      long aAt,
      MemorySegment b,
      long bAt,
      MemorySegment out,
      long outAt,
      long bytes);

  /** Divides every element. */
  abstract void divide(MemorySegment x, long at, long bytes, int divisor);
}
