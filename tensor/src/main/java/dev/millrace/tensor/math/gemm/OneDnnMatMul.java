package dev.millrace.tensor.math.gemm;

import dev.millrace.tensor.math.onednn.OneDnnLayout;
import dev.millrace.tensor.math.onednn.OneDnnObject;
import dev.millrace.tensor.math.onednn.OneDnnPrimitive;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Matrix products compiled by oneDNN for one shape. With AVX-512 they are as fast as its general
 * product, and twice as fast where there are few columns, unless the right-hand matrix is
 * transposed; without AVX-512 they are that product.
 */
final class OneDnnMatMul {
  private static final int FEW = 16;
  private static final Map<Gemm, Optional<OneDnnPrimitive>> COMPILED = new ConcurrentHashMap<>();

  /** A program with more shapes than this compiles again what it has used before. */
  private static final int MAX_COMPILED = 512;

  private OneDnnMatMul() {}

  /** Whether to use a compiled product. */
  static boolean isWorthIt(Gemm g) {
    return (!g.transB() || g.k() <= FEW) && OneDnnObject.AVX512;
  }

  /** The compiled product, to be run on A, B and C; null if oneDNN has none. */
  static OneDnnPrimitive of(Gemm g) {
    Optional<OneDnnPrimitive> found = COMPILED.get(g);
    if (found == null) {
      if (COMPILED.size() >= MAX_COMPILED) {
        COMPILED.clear();
      }
      found = COMPILED.computeIfAbsent(g, OneDnnMatMul::compile);
    }
    return found.orElse(null);
  }

  private static Optional<OneDnnPrimitive> compile(Gemm g) {
    long description =
        OneDnnObject.tryCreateWith(
            "dnnl_matmul_primitive_desc_create",
            OneDnnObject.ENGINE,
            layout(g.m(), g.k(), g.lda(), g.transA()).handle(),
            layout(g.k(), g.n(), g.ldb(), g.transB()).handle(),
            0L, // no bias
            layout(g.m(), g.n(), g.ldc(), false).handle(),
            OneDnnPrimitive.ATTRIBUTES);
    return description == 0
        ? Optional.empty()
        : Optional.of(
            new OneDnnPrimitive(
                description,
                OneDnnPrimitive.SOURCE,
                OneDnnPrimitive.WEIGHTS,
                OneDnnPrimitive.TARGET));
  }

  private static OneDnnLayout layout(long rows, long cols, long stride, boolean transposed) {
    long[] strides = transposed ? new long[] {1, stride} : new long[] {stride, 1};
    return OneDnnLayout.strided(new long[] {rows, cols}, strides);
  }
}
