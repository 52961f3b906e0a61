package dev.millrace.tensor.math.random;

/** Uniform and normal doubles, each kind two to a counter, the second of a pair first. */
final class DoublePairs {
  private static final double LEAST = 1e-7;

  private final Philox.Cursor source;
  private final int[] four = new int[4];
  private final double[] uniform = new double[2];
  private final double[] normal = new double[2];
  private int uniforms;
  private int normals;

  DoublePairs(Philox source) {
    this.source = source.cursor();
  }

  /** From 0 to 1, exclusive. */
  double nextUniform() {
    if (uniforms == 0) {
      source.nextFour(four);
      uniform[0] = Philox.unitDouble(four[0], four[1]);
      uniform[1] = Philox.unitDouble(four[2], four[3]);
      uniforms = 2;
    }
    return uniform[--uniforms];
  }

  /** Of mean 0 and deviation 1, by Box and Muller. */
  double nextNormal() {
    if (normals == 0) {
      source.nextFour(four);
      double u = Math.max(LEAST, Philox.unitDouble(four[0], four[1]));
      double angle = 2 * Math.PI * Philox.unitDouble(four[2], four[3]);
      double radius = Math.sqrt(-2 * Math.log(u));
      normal[0] = Math.sin(angle) * radius;
      normal[1] = Math.cos(angle) * radius;
      normals = 2;
    }
    return normal[--normals];
  }
}
