package dev.millrace.tensor.math.conv;

/** Which of the three arrays of a convolution is computed from the other two. */
public enum ConvResult {
  OUTPUT,
  INPUT,
  FILTER
}
