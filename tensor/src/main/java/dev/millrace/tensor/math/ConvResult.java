package dev.millrace.tensor.math;

/** Which of the three arrays of a convolution is computed from the other two. */
enum ConvResult {
  OUTPUT,
  INPUT,
  FILTER
}
