package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.interop.conformance.OpCase;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Random numbers of a seed or a key: the very numbers TensorFlow draws. */
public final class StatelessCases extends CaseTable {
  private static final Tensor KEY = unsigned(0x0123456789ABCDEFL);
  private static final Tensor COUNTER = unsigned(-2, 77);
  private static final Tensor PHILOX = Tensor.scalar(1);

  public StatelessCases() {
    op("StatelessRandomGetAlg");
    for (String op : List.of("StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg")) {
      op(op, longs(1, 2));
      op(op, longs(-7654321, 1L << 40));
      op(op, ints(3, -4));
      op(op, longs(1, 2, 3)).fails(Code.INVALID_ARGUMENT);
    }
    for (String op :
        List.of(
            "StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2")) {
      for (DType dtype : Kernels.types(op, "dtype")) {
        keyed(op, ints(5, 7)).with("dtype", dtype).fixed(0);
      }
      keyed(op, longs(3)).fixed(0);
      keyed(op, ints(0)).fixed(0);
      op(op, ints(3), KEY, COUNTER, Tensor.scalar(2)).fails(Code.INVALID_ARGUMENT);
      op(op, ints(3), COUNTER, COUNTER, PHILOX).fails(Code.INVALID_ARGUMENT);
    }
    for (DType dtype : Kernels.types("StatelessRandomUniformIntV2", "dtype")) {
      Tensor low = scalar(dtype, 3);
      Tensor high = scalar(dtype, 1_000_000);
      op("StatelessRandomUniformIntV2", ints(5, 7), KEY, COUNTER, PHILOX, low, high).fixed(0);
      keyed("StatelessRandomUniformFullIntV2", ints(5, 7)).with("dtype", dtype).fixed(0);
      op("StatelessRandomUniformFullInt", ints(5, 7), longs(5, 6)).with("dtype", dtype).fixed(0);
      op("StatelessRandomUniformIntV2", ints(2), KEY, COUNTER, PHILOX, high, low)
          .fails(Code.INVALID_ARGUMENT);
    }
    for (DType dtype : Kernels.types("StatelessRandomUniformInt", "dtype")) {
      Tensor low = scalar(dtype, -3);
      op("StatelessRandomUniformInt", ints(5, 7), longs(5, 6), low, scalar(dtype, 9)).fixed(0);
    }
    keyed("StatelessRandomUniformFullIntV2", ints(0)).fixed(0);
    op("StatelessRandomUniformFullInt", ints(0), ints(1, 2)).fixed(0);
    op("StatelessRandomUniformFullInt", ints(2), longs(1)).fails(Code.INVALID_ARGUMENT);
    op("StatelessMultinomial", floats(3, 5), scalar(7), longs(5, 6)).fixed(1);
    op("StatelessMultinomial", doubles(3, 5), scalar(0), longs(5, 6)).fixed(1);
    op("StatelessMultinomial", floats(3), scalar(7), longs(5, 6)).fails(Code.INVALID_ARGUMENT);
  }

  private OpCase keyed(String op, Tensor shape) {
    return op(op, shape, KEY, COUNTER, PHILOX);
  }

  private static Tensor unsigned(long... v) {
    Tensor t = Tensor.allocate(DType.UINT64, Shape.of(v.length));
    for (int i = 0; i < v.length; i++) {
      t.setLong(i, v[i]);
    }
    return t;
  }
}
