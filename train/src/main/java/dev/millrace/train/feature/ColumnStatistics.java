package dev.millrace.train.feature;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.data.column.Column;
import java.util.List;

/**
 * Means and standard deviations of the numbers of a column, from data.
 *
 * @param deviations never 0: 1 where all numbers are equal
 */
public record ColumnStatistics(float[] means, float[] deviations) {
  private static final int BATCH = 1024;

  /** Checks the lengths. */
  public ColumnStatistics {
    if (means.length != deviations.length || means.length == 0) {
      throw MillraceException.invalid(
          "%d means and %d deviations were given; a column has as many of each as numbers.",
          means.length, deviations.length);
    }
    means = means.clone();
    deviations = deviations.clone();
  }

  /** Of {@code column}, one of the {@code columns} of {@code data}, in one passage. */
  public static ColumnStatistics of(Dataset data, List<Column> columns, String column) {
    int c = columns.stream().map(Column::name).toList().indexOf(column);
    if (c < 0) {
      throw MillraceException.invalid("The data has no column '%s'.", column);
    }
    int width = columns.get(c).width();
    // Welford's sums of squares do not cancel, however far the mean is from 0.
    double[] means = new double[width];
    double[] squares = new double[width];
    long rows = 0;
    try (Elements batches = data.batch(BATCH, false).elements()) {
      for (Tensor[] batch = batches.next(); batch != null; batch = batches.next()) {
        Tensor x = batch[c];
        for (long i = 0; i < x.elements(); i++) {
          int w = (int) (i % width);
          rows += w == 0 ? 1 : 0;
          double v = x.doubleAt(i);
          double before = v - means[w];
          means[w] += before / rows;
          squares[w] += before * (v - means[w]);
        }
        Elements.release(batch);
      }
    }
    if (rows == 0) {
      throw MillraceException.invalid("The data is empty, so column '%s' has no mean.", column);
    }
    float[] mean = new float[width];
    float[] deviation = new float[width];
    for (int w = 0; w < width; w++) {
      mean[w] = (float) means[w];
      float d = (float) Math.sqrt(squares[w] / rows);
      deviation[w] = d == 0 ? 1 : d;
    }
    return new ColumnStatistics(mean, deviation);
  }
}
