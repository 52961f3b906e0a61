/** Special functions: gamma, beta, zeta, Bessel, quantiles, and products with logarithms. */
package dev.millrace.ops.special;
