package dev.millrace.collective.reduce;

/** What a reduction makes of the values the ranks contribute to one element. */
public enum ReduceOp {
  /** The sum; integers wrap around. */
  SUM,
  /** The sum divided by the number of ranks; integers are cut towards zero. */
  AVERAGE,
  /** The smallest; NaN if any is NaN. For bool: whether all are true. */
  MIN,
  /** The largest; NaN if any is NaN. For bool: whether any is true. */
  MAX,
  /** The product; integers wrap around. */
  PRODUCT;

  /** The operation applied to two values at a time; an average is a sum until its end. */
  ReduceOp pairwise() {
    return this == AVERAGE ? SUM : this;
  }
}
