package dev.millrace.tensor.math;

import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.gemm.Gemm;

/** What a matrix product is: the definition, element by element, summed in the widest type. */
public final class ReferenceGemm {
  private ReferenceGemm() {}

  public static void multiply(Gemm g, Tensor a, Tensor b, Tensor c, boolean add) {
    boolean floating = g.type().isFloating();
    double[] x = floating ? a.toDoubles() : null;
    double[] y = floating ? b.toDoubles() : null;
    long[] u = floating ? null : a.toLongs();
    long[] v = floating ? null : b.toLongs();
    for (int i = 0; i < g.m(); i++) {
      for (int j = 0; j < g.n(); j++) {
        int at = i * g.ldc() + j;
        double sum = add && floating ? c.doubleAt(at) : 0;
        long whole = add && !floating ? c.longAt(at) : 0;
        for (int p = 0; p < g.k(); p++) {
          int ip = g.transA() ? p * g.lda() + i : i * g.lda() + p;
          int pj = g.transB() ? j * g.ldb() + p : p * g.ldb() + j;
          if (floating) {
            sum += x[ip] * y[pj];
          } else {
            whole += u[ip] * v[pj];
          }
        }
        if (floating) {
          c.setDouble(at, sum);
        } else {
          c.setLong(at, whole);
        }
      }
    }
  }
}
