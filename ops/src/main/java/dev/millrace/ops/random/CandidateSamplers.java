package dev.millrace.ops.random;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.random.Philox;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * Classes drawn as counterexamples to the true ones, with how often each is to be expected: what a
 * sampled softmax or noise-contrastive estimation computes its loss on.
 */
public final class CandidateSamplers {
  /** How many counters of the sequence TensorFlow sets aside for each class drawn. */
  private static final long COUNTERS_PER_SAMPLE = 2048 / 4;

  /** The ops that are loaded on demand. */
  public static final List<Op> ALL =
      List.of(
          define("UniformCandidateSampler", n -> RangeSampler.uniform(range(n))),
          define("LogUniformCandidateSampler", n -> RangeSampler.logUniform(range(n))),
          define("LearnedUnigramCandidateSampler", CandidateSamplers::learned),
          define("ThreadUnsafeUnigramCandidateSampler", CandidateSamplers::learned),
          define("FixedUnigramCandidateSampler", FixedUnigram::of),
          all(),
          accidentalHits());

  private CandidateSamplers() {}

  private static long range(Node node) {
    return node.longAttr("range_max");
  }

  private static RangeSampler learned(Node node) {
    long range = range(node);
    if (range >= Integer.MAX_VALUE) {
      throw MillraceException.invalid(
          "%s '%s': range_max is %d; it must be below 2^31 - 1.",
          node.op().name(), node.name(), range);
    }
    return new LearnedUnigram((int) range);
  }

  private static Op.Builder begin(String name) {
    return Op.define(name)
        .attr("num_true: int >= 1")
        .attr("num_sampled: int >= 1")
        .attr("unique: bool");
  }

  private static Op define(String name, Function<Node, RangeSampler> sampler) {
    Op.Builder op = begin(name).attr("range_max: int >= 1");
    if (name.startsWith("Fixed")) {
      op.attr("vocab_file: string = ''")
          .attr("distortion: float = 1.0")
          .attr("num_reserved_ids: int = 0")
          .attr("num_shards: int >= 1 = 1")
          .attr("shard: int >= 0 = 0")
          .attr("unigrams: list(float) = []");
    }
    return finish(op, node -> kernel(node, sampler.apply(node)));
  }

  private static Op finish(Op.Builder op, Function<Node, Kernel> kernel) {
    return op.attr("seed: int = 0")
        .attr("seed2: int = 0")
        .input("true_classes: int64")
        .output("sampled_candidates: int64")
        .output("true_expected_count: float")
        .output("sampled_expected_count: float")
        .stateful()
        .shape(
            c -> {
              long n = c.node().longAttr("num_sampled");
              Shape classes = Shape.of(c.inputOfRank(0, 2).dim(0), c.node().longAttr("num_true"));
              return List.of(Shape.of(n), classes, Shape.of(n));
            })
        .kernelPerNode(kernel)
        .noGradient("classes are drawn by chance")
        .build();
  }

  private static Kernel kernel(Node node, RangeSampler sampler) {
    int n = node.intAttr("num_sampled");
    boolean isUnique = node.booleanAttr("unique");
    if (isUnique && sampler.range() < n) {
      throw MillraceException.invalid("Sampler's range is too small.");
    }
    SeededState state = new SeededState(node);
    return c -> {
      Tensor classes = trueClasses(c);
      Philox.Cursor random = state.take(COUNTERS_PER_SAMPLE * n).cursor();
      Tensor sampled = c.allocate(0, Shape.of(n));
      Set<Long> seen = new HashSet<>();
      int tries = 0;
      for (int i = 0; i < n; tries++) {
        if ((tries & 0xFFFF) == 0xFFFF) {
          c.cancellation().check();
        }
        long value = sampler.sample(random);
        if (!isUnique || seen.add(value)) {
          sampled.setLong(i++, value);
        }
      }
      expect(sampler, classes, c.allocate(1, classes.shape()), n, tries);
      expect(sampler, sampled, c.allocate(2, Shape.of(n)), n, tries);
      for (long i = 0; i < classes.elements(); i++) {
        sampler.update(classes.longAt(i));
      }
    };
  }

  private static Tensor trueClasses(KernelContext c) {
    Tensor classes = c.input(0);
    long wanted = c.node().longAttr("num_true");
    if (classes.shape().rank() != 2) {
      throw MillraceException.invalid("true_classes must be a matrix");
    }
    if (classes.shape().dim(1) != wanted) {
      throw MillraceException.invalid(
          "true_classes must have num_true columns, expected: %d was: %d",
          wanted, classes.shape().dim(1));
    }
    return classes;
  }

  /** The expected count of each class among {@code n} samples, given the number of tries. */
  private static void expect(RangeSampler sampler, Tensor classes, Tensor out, int n, int tries) {
    for (long i = 0; i < classes.elements(); i++) {
      long value = classes.longAt(i);
      if (value < 0 || value >= sampler.range()) {
        throw MillraceException.invalid(
            "`true_candidate` out of range [0, %d), received %d", sampler.range(), value);
      }
      float p = sampler.probability(value);
      out.setDouble(i, tries == n ? p * n : -Math.expm1(tries * Math.log1p(-p)));
    }
  }

  private static Op all() {
    return finish(
        begin("AllCandidateSampler"),
        node -> {
          int n = node.intAttr("num_sampled");
          return c -> {
            Tensor classes = trueClasses(c);
            Tensor sampled = c.allocate(0, Shape.of(n));
            for (int i = 0; i < n; i++) {
              sampled.setLong(i, i);
            }
            ones(c.allocate(1, classes.shape()));
            ones(c.allocate(2, Shape.of(n)));
          };
        });
  }

  private static void ones(Tensor t) {
    for (long i = 0; i < t.elements(); i++) {
      t.setDouble(i, 1);
    }
  }

  private static Op accidentalHits() {
    Shape any = Shape.of(Shape.UNKNOWN);
    return Op.define("ComputeAccidentalHits")
        .attr("num_true: int")
        .attr("seed: int = 0")
        .attr("seed2: int = 0")
        .input("true_classes: int64")
        .input("sampled_candidates: int64")
        .output("indices: int32")
        .output("ids: int64")
        .output("weights: float")
        .shape(
            c -> {
              Shape classes = c.inputOfRank(0, 2);
              long wanted = c.node().longAttr("num_true");
              if (classes.dim(1) >= 0 && classes.dim(1) != wanted) {
                throw MillraceException.invalid(
                    "true_classes must have %d columns, not %d.", wanted, classes.dim(1));
              }
              c.inputOfRank(1, 1);
              return List.of(any, any, any);
            })
        .kernel(CandidateSamplers::findHits)
        .noGradient("which classes met is piecewise constant")
        .build();
  }

  private static void findHits(KernelContext c) {
    long columns = c.node().longAttr("num_true");
    Tensor classes = c.input(0);
    Tensor sampled = c.input(1);
    if (classes.shape().rank() != 2 || classes.shape().dim(1) != columns) {
      throw MillraceException.invalid(
          "true_candidates must be a batch_size * num_true matrix; it is %s.", classes.shape());
    }
    if (sampled.shape().rank() != 1) {
      throw MillraceException.invalid(
          "sampled_candidates must be a vector, which is typically an output from"
              + " CandidateSampler; it is %s.",
          sampled.shape());
    }
    Map<Long, Long> positions = new HashMap<>();
    for (long i = 0; i < sampled.elements(); i++) {
      positions.put(sampled.longAt(i), i);
    }
    List<long[]> hits = new ArrayList<>();
    for (long i = 0; i < classes.elements(); i++) {
      Long at = positions.get(classes.longAt(i));
      if (at != null) {
        hits.add(new long[] {i / columns, at});
      }
    }
    Shape shape = Shape.of(hits.size());
    Tensor rows = c.allocate(0, shape);
    Tensor ids = c.allocate(1, shape);
    Tensor weights = c.allocate(2, shape);
    for (int i = 0; i < hits.size(); i++) {
      rows.setLong(i, hits.get(i)[0]);
      ids.setLong(i, hits.get(i)[1]);
      weights.setDouble(i, -Float.MAX_VALUE);
    }
  }
}
