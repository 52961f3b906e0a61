package dev.millrace.collective.algorithm;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.tensor.DType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * What a rank is about to do, in two words that go ahead of its data, so that ranks that have come
 * to different operations find out instead of mixing their bytes.
 *
 * @param what kind, operation, type and running number of the operation
 * @param bytes how much data it is about
 */
record Envelope(long what, long bytes) {
  /**
   * What an envelope takes on a stream: a whole line, so that data behind it stays aligned in the
   * memory of the kernel, which copies a third slower otherwise.
   */
  static final long BYTES = 64;

  private static final long WORDS_BYTES = 16;

  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;
  private static final int NONE = 0xFF;

  /** The kinds of collective operation. */
  enum Kind {
    ALL_REDUCE("all-reduce"),
    ALL_GATHER("all-gather"),
    BROADCAST("broadcast"),
    ALL_TO_ALL("all-to-all"),
    REDUCE_SCATTER("reduce-scatter"),
    BARRIER("barrier"),
    EXCHANGE("exchange of sizes");

    private final String label;

    Kind(String label) {
      this.label = label;
    }
  }

  /** {@code op} and {@code dtype} may be null where they do not matter. */
  static Envelope of(Kind kind, ReduceOp op, DType dtype, int detail, int sequence, long bytes) {
    long what =
        (long) kind.ordinal() << 60
            | (long) (op == null ? NONE : op.ordinal()) << 52
            | (long) (dtype == null ? NONE : dtype.number()) << 44
            | (long) (detail & 0xFFF) << 32
            | (sequence & 0xFFFFFFFFL);
    return new Envelope(what, bytes);
  }

  void write(MemorySegment to, long at) {
    to.set(LONG, at, what);
    to.set(LONG, at + 8, bytes);
    to.asSlice(at + WORDS_BYTES, BYTES - WORDS_BYTES).fill((byte) 0);
  }

  static Envelope read(MemorySegment from, long at) {
    return new Envelope(from.get(LONG, at), from.get(LONG, at + 8));
  }

  /** What to report when this rank, {@code mine}, finds that {@code theirs} sent another one. */
  MillraceException mismatch(int mine, Envelope other, int theirs) {
    return new MillraceException(
        Code.INVALID_ARGUMENT,
        String.format(
            "Ranks do different things: rank %d %s, rank %d %s. All ranks must call the same"
                + " operations in the same order with the same sizes and types.",
            mine, this, theirs, other));
  }

  @Override
  public String toString() {
    int kind = (int) (what >>> 60);
    int op = (int) (what >>> 52) & 0xFF;
    int dtype = (int) (what >>> 44) & 0xFF;
    int detail = (int) (what >>> 32) & 0xFFF;
    if (kind >= Kind.values().length) {
      return "sent bytes that are no operation";
    }
    String s = "does " + Kind.values()[kind].label;
    s += op < ReduceOp.values().length ? " " + ReduceOp.values()[op] : "";
    s += dtype > 0 && dtype <= 23 ? " of " + DType.of(dtype) : "";
    s += Kind.values()[kind] == Kind.BROADCAST ? " from rank " + detail : "";
    return s + " of " + bytes + " bytes as its operation " + (int) what;
  }
}
