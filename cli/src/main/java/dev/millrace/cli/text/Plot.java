package dev.millrace.cli.text;

import java.io.PrintWriter;
import java.util.Arrays;

/** A curve in a terminal, drawn with the eight dots of a braille character per cell. */
public final class Plot {
  private static final int LABEL = 10;

  /** The bit of each dot of a cell, by row and column. */
  private static final int[][] DOTS = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

  private final double[] xs;
  private final double[] ys;

  /**
   * A curve through these points, in the order of their xs. Points that are not finite are left
   * out.
   */
  public Plot(double[] xs, double[] ys) {
    int n = 0;
    double[] x = new double[xs.length];
    double[] y = new double[xs.length];
    for (int i = 0; i < xs.length; i++) {
      if (Double.isFinite(xs[i]) && Double.isFinite(ys[i])) {
        x[n] = xs[i];
        y[n++] = ys[i];
      }
    }
    this.xs = Arrays.copyOf(x, n);
    this.ys = Arrays.copyOf(y, n);
  }

  /** Prints the curve in {@code width} columns and {@code height} lines, axes included. */
  public void print(PrintWriter out, int width, int height) {
    if (xs.length == 0) {
      out.println("(no finite values)");
      return;
    }
    int columns = Math.max(8, width - LABEL - 2);
    int lines = Math.max(2, height - 1);
    double low = Arrays.stream(ys).min().getAsDouble();
    double high = Arrays.stream(ys).max().getAsDouble();
    int[][] cells = draw(columns, lines, low, high);
    for (int r = 0; r < lines; r++) {
      String label = r == 0 ? Amount.number(high) : r == lines - 1 ? Amount.number(low) : "";
      StringBuilder line = new StringBuilder(String.format("%" + LABEL + "s \u2502", label));
      for (int cell : cells[r]) {
        line.append(cell == 0 ? ' ' : (char) (0x2800 + cell));
      }
      out.println(line.toString().stripTrailing());
    }
    String first = Amount.number(xs[0]);
    String last = Amount.number(xs[xs.length - 1]);
    out.println(
        " ".repeat(LABEL + 1)
            + "\u2514"
            + first
            + " ".repeat(Math.max(1, columns - first.length() - last.length()))
            + last);
  }

  private int[][] draw(int columns, int lines, double low, double high) {
    int[][] cells = new int[lines][columns];
    double from = xs[0];
    double span = xs[xs.length - 1] - from;
    int lastX = 0;
    int lastY = 0;
    for (int i = 0; i < xs.length; i++) {
      double along = span > 0 ? (xs[i] - from) / span : 0;
      double down = high > low ? (high - ys[i]) / (high - low) : .5;
      int x = (int) Math.round(along * (columns * 2 - 1));
      int y = (int) Math.round(down * (lines * 4 - 1));
      line(cells, i == 0 ? x : lastX, i == 0 ? y : lastY, x, y);
      lastX = x;
      lastY = y;
    }
    return cells;
  }

  /** Sets the dots of a straight line. */
  private static void line(int[][] cells, int x0, int y0, int x1, int y1) {
    int steps = Math.max(1, Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0)));
    for (int k = 0; k <= steps; k++) {
      int x = x0 + Math.round((float) (x1 - x0) * k / steps);
      int y = y0 + Math.round((float) (y1 - y0) * k / steps);
      cells[y / 4][x / 2] |= DOTS[y % 4][x % 2];
    }
  }
}
