package dev.millrace.train.metric;

import dev.millrace.base.MillraceException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.IntToDoubleFunction;

/** How often each class was taken for each class; predictions and labels are class indices. */
public final class ConfusionMatrix extends SummedMetric {
  private final int classes;

  /** For classes 0 to {@code classes - 1}. */
  public ConfusionMatrix(int classes) {
    super(square(classes));
    this.classes = classes;
  }

  private static int square(int classes) {
    if (classes < 1 || classes > 10_000) {
      throw MillraceException.invalid(
          "A confusion matrix has 1 to 10000 classes, not %d.", classes);
    }
    return classes * classes;
  }

  @Override
  public void add(Examples examples) {
    for (int i = 0; i < examples.size(); i++) {
      int label = index("label", examples.labels()[i], i);
      int prediction = index("prediction", examples.predictions()[i], i);
      sums[label * classes + prediction] += examples.weights()[i];
    }
  }

  private int index(String what, double value, int example) {
    if (value < 0 || value >= classes || value != Math.rint(value)) {
      throw MillraceException.invalid(
          "The %s of example %d is %s; class indices from 0 to %d are needed.",
          what, example, value, classes - 1);
    }
    return (int) value;
  }

  /** The weight of the examples of class {@code label} that were taken for {@code prediction}. */
  public double count(int label, int prediction) {
    return sums[label * classes + prediction];
  }

  /** The share of examples whose class was found. */
  public double accuracy() {
    double right = 0;
    double all = 0;
    for (int c = 0; c < classes; c++) {
      right += count(c, c);
      all += labelled(c);
    }
    return right / all;
  }

  /** The share of examples of class {@code c} among those taken for it; 0 if there are none. */
  public double precision(int c) {
    return BinaryClassification.share(count(c, c), predicted(c));
  }

  /** The share of the examples of class {@code c} that were found; 0 if there are none. */
  public double recall(int c) {
    return BinaryClassification.share(count(c, c), labelled(c));
  }

  /** The harmonic mean of precision and recall of class {@code c}. */
  public double f1(int c) {
    double right = count(c, c);
    return BinaryClassification.f1(right, predicted(c) - right, labelled(c) - right);
  }

  private double labelled(int c) {
    double sum = 0;
    for (int p = 0; p < classes; p++) {
      sum += count(c, p);
    }
    return sum;
  }

  private double predicted(int c) {
    double sum = 0;
    for (int l = 0; l < classes; l++) {
      sum += count(l, c);
    }
    return sum;
  }

  /** The mean over the classes that occur as a label or a prediction. */
  private double macro(IntToDoubleFunction ofClass) {
    double sum = 0;
    int n = 0;
    for (int c = 0; c < classes; c++) {
      if (labelled(c) + predicted(c) > 0) {
        sum += ofClass.applyAsDouble(c);
        n++;
      }
    }
    return sum / n;
  }

  @Override
  public Map<String, Double> values() {
    Map<String, Double> values = new LinkedHashMap<>();
    values.put("accuracy", accuracy());
    values.put("macro_precision", macro(this::precision));
    values.put("macro_recall", macro(this::recall));
    values.put("macro_f1", macro(this::f1));
    return values;
  }
}
