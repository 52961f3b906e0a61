package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.OpCase;
import dev.millrace.interop.conformance.Values.Domain;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/** Candidates of sampled losses, and numbers of gamma and Poisson distributions, all by seed. */
public final class SamplingCases extends CaseTable {
  public SamplingCases() {
    for (boolean unique : new boolean[] {false, true}) {
      for (String kind :
          List.of("Uniform", "LogUniform", "LearnedUnigram", "ThreadUnsafeUnigram")) {
        sampler(kind + "CandidateSampler", unique, 50).with("range_max", 50);
        sampler(kind + "CandidateSampler", unique, 64).with("range_max", 64);
      }
      sampler("FixedUnigramCandidateSampler", unique, 12)
          .with("range_max", 12)
          .with("distortion", 0.75f)
          .with("unigrams", List.of(1f, 2f, 5f, 1f, 9f, 3f, 3f, 2f, 8f, 4f, 1f, 6f));
      sampler("FixedUnigramCandidateSampler", unique, 12)
          .with("range_max", 12)
          .with("num_reserved_ids", 2)
          .with("unigrams", List.of(5f, 1f, 9f, 3f, 3f, 2f, 8f, 4f, 1f, 6f));
    }
    for (String kind : List.of("Uniform", "LogUniform", "LearnedUnigram", "ThreadUnsafeUnigram")) {
      sampler(kind + "CandidateSampler", true, 4).with("range_max", 4).fails(Code.INVALID_ARGUMENT);
    }
    sampler("FixedUnigramCandidateSampler", false, 3)
        .with("range_max", 3)
        .with("unigrams", List.of(1f, 2f))
        .fails(Code.INVALID_ARGUMENT);
    all();
    hits();
    gamma();
    poisson();
  }

  private OpCase sampler(String op, boolean unique, int range) {
    return op(op, values.between(DType.INT64, 0, range, 3, 2))
        .with("num_true", 2)
        .with("num_sampled", 6)
        .with("unique", unique)
        .with("seed", 31)
        .with("seed2", 7)
        .slack(20)
        .noGradient();
  }

  private void all() {
    op("AllCandidateSampler", values.between(DType.INT64, 0, 5, 3, 2))
        .with("num_true", 2)
        .with("num_sampled", 5)
        .with("unique", true)
        .noGradient();
    op("AllCandidateSampler", longs(1, 2))
        .with("num_true", 2)
        .with("num_sampled", 5)
        .with("unique", true)
        .fails(Code.INVALID_ARGUMENT);
  }

  private void hits() {
    String op = "ComputeAccidentalHits";
    op(op, Tensor.of(Shape.of(3, 2), 1L, 2L, 5L, 7L, 2L, 0L), longs(7, 2, 9, 2, 0))
        .with("num_true", 2);
    op(op, Tensor.of(Shape.of(2, 1), 1L, 2L), longs(5)).with("num_true", 1);
    op(op, Tensor.of(Shape.of(0, 2), new long[0]), longs(5)).with("num_true", 2);
    op(op, longs(1, 2), longs(5)).with("num_true", 2).fails(Code.INVALID_ARGUMENT);
  }

  private void gamma() {
    for (DType dtype : List.of(DType.HALF, DType.FLOAT, DType.DOUBLE)) {
      op("RandomGamma", ints(20), values.of(Domain.POSITIVE, dtype, Shape.of(3)))
          .fixed(0)
          .with("seed", 5)
          .with("seed2", 9)
          .slack(100)
          .noGradient();
    }
    op("RandomGamma", longs(4, 2), Tensor.vector(0.2, 1.0, 7.5))
        .fixed(0)
        .with("seed", 5)
        .slack(100)
        .noGradient();
    op("RandomGamma", ints(0), floats(2)).fixed(0).with("seed", 5).noGradient();
    op("RandomGamma", ints(-1), floats(2)).with("seed", 5).fails(Code.INVALID_ARGUMENT);
  }

  private void poisson() {
    for (String op : List.of("RandomPoisson", "RandomPoissonV2")) {
      boolean isOld = op.equals("RandomPoisson");
      for (DType dtype : List.of(DType.HALF, DType.FLOAT, DType.DOUBLE)) {
        poisson(op, ints(20), scalar(dtype, 3))
            .with(isOld ? "seed2" : "dtype", isOld ? (Object) 9 : DType.INT32);
      }
      poisson(op, longs(3, 2), Tensor.vector(0.2, 12.0, 300.0));
      poisson(op, ints(0), floats(2));
      poisson(op, ints(-1), floats(2)).fails(Code.INVALID_ARGUMENT);
    }
  }

  private OpCase poisson(String op, Tensor shape, Tensor rate) {
    // With some other rates, infinity among them, TensorFlow's kernel does not end.
    OpCase c = op(op, shape, rate).with("seed", 5).noGradient().fixed(1);
    if (shape.longAt(0) >= 0) {
      c.fixed(0);
    }
    return op.equals("RandomPoisson") ? c.removedIn(25) : c;
  }
}
