package dev.millrace.collective.algorithm;

/**
 * How a vector is cut into parts: nearly equal ones that begin at multiples of a cache line. The
 * cut depends on the vector's own length alone, never on what it travels with.
 */
public final class VectorParts {
  private static final long LINE = 64;

  private VectorParts() {}

  /** Where part {@code part} of {@code parts} begins in a vector of {@code bytes}, in bytes. */
  public static long bound(long bytes, int parts, int part) {
    if (part == parts) {
      return bytes;
    }
    long exact = bytes / parts * part + bytes % parts * part / parts;
    return exact / LINE * LINE;
  }

  /** Where all parts begin, and where the last ends. */
  public static long[] bounds(long bytes, int parts) {
    long[] bounds = new long[parts + 1];
    for (int p = 0; p <= parts; p++) {
      bounds[p] = bound(bytes, parts, p);
    }
    return bounds;
  }
}
