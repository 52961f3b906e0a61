package dev.millrace.ops.dataset;

import dev.millrace.graph.KernelContext;
import dev.millrace.graph.resource.Resources;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.random.Philox;
import java.security.SecureRandom;

/**
 * Seeds for one walk through a dataset after the other: new ones each time, drawn by the first, or
 * always the same.
 *
 * <p>Threading: any thread.
 */
final class SeedGenerator implements Resources.Resource {
  private static final SecureRandom ENTROPY = new SecureRandom();

  private final long seed;
  private final long seed2;
  private final Philox.Cursor random;

  /** Two zeros stand for seeds by chance. */
  SeedGenerator(long seed, long seed2, boolean fresh) {
    boolean chosen = seed != 0 || seed2 != 0;
    this.seed = chosen ? seed : ENTROPY.nextLong();
    this.seed2 = chosen ? seed2 : ENTROPY.nextLong();
    random = fresh ? Philox.ofSeeds(this.seed, this.seed2).cursor() : null;
  }

  synchronized long[] next() {
    return random == null
        ? new long[] {seed, seed2}
        : new long[] {
          Integer.toUnsignedLong(random.nextInt()), Integer.toUnsignedLong(random.nextInt())
        };
  }

  @Override
  public String kind() {
    return "SeedGenerator";
  }

  /** The handle of a generator that does not exist: the seeds are elsewhere. */
  static Tensor dummyHandle(KernelContext c) {
    return Refs.ofObjects(
        DType.RESOURCE,
        Shape.scalar(),
        new Object[] {
          new Resources.Handle(
              c.node().device(), Resources.DEFAULT_CONTAINER, "dummy_seed_generator", "Dummy")
        });
  }
}
