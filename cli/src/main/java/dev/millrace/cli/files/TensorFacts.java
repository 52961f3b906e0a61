package dev.millrace.cli.files;

import dev.millrace.cli.text.Amount;
import dev.millrace.tensor.Tensor;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What there is to say about a tensor's values.
 *
 * @param notFinite how many are NaN or infinite; the others are what the rest is about
 */
record TensorFacts(
    String name,
    Tensor tensor,
    double min,
    double max,
    double mean,
    double deviation,
    long notFinite) {
  /** Looks at all elements of {@code tensor}, which must outlive this. */
  static TensorFacts of(String name, Tensor tensor) {
    double min = Double.POSITIVE_INFINITY;
    double max = Double.NEGATIVE_INFINITY;
    double mean = 0;
    double squares = 0;
    long n = 0;
    boolean numbers = tensor.dtype().isFloating() || tensor.dtype().isIntegral();
    for (long i = 0; numbers && i < tensor.elements(); i++) {
      double v = tensor.doubleAt(i);
      if (Double.isFinite(v)) {
        min = Math.min(min, v);
        max = Math.max(max, v);
        // Welford's way, which loses no digits to a large mean.
        double d = v - mean;
        mean += d / ++n;
        squares += d * (v - mean);
      }
    }
    boolean some = n > 0;
    return new TensorFacts(
        name,
        tensor,
        some ? min : Double.NaN,
        some ? max : Double.NaN,
        some ? mean : Double.NaN,
        some ? Math.sqrt(squares / n) : Double.NaN,
        numbers ? tensor.elements() - n : 0);
  }

  Map<String, Object> asMap() {
    Map<String, Object> f = new LinkedHashMap<>();
    f.put("name", name);
    f.put("type", tensor.dtype().toString());
    f.put("shape", Arrays.stream(tensor.shape().dims()).boxed().toList());
    f.put("min", min);
    f.put("max", max);
    f.put("mean", mean);
    f.put("deviation", deviation);
    f.put("notFinite", notFinite);
    return f;
  }

  void print(PrintWriter out) {
    out.println(name);
    if (!Double.isNaN(mean)) {
      out.printf(
          "min %s  max %s  mean %s  standard deviation %s%s%n",
          Amount.number(min),
          Amount.number(max),
          Amount.number(mean),
          Amount.number(deviation),
          notFinite == 0 ? "" : "  NaN or infinite " + notFinite);
    }
    out.println(tensor);
  }
}
