package dev.millrace.cli;

import dev.millrace.collective.Ring;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.tensor.Tensor;

/** A rank for tests: prints the sum of all ranks' numbers and what it knows about itself. */
public final class LaunchedSum {
  private LaunchedSum() {}

  public static void main(String[] args) {
    try (Ring ring = Ring.init();
        Tensor sum = ring.allReduce("x", Tensor.scalar(1 << ring.rank()), ReduceOp.SUM)) {
      System.out.printf(
          "sum %d rank %d/%d local %d/%d cross %d/%d%n",
          sum.intValue(),
          ring.rank(),
          ring.size(),
          ring.localRank(),
          ring.localSize(),
          ring.crossRank(),
          ring.crossSize());
    }
  }
}
