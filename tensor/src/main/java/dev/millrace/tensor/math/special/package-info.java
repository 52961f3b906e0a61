/** Special functions of real numbers in double precision, one element at a time. */
package dev.millrace.tensor.math.special;
