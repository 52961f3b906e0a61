/** Convolution, pooling and the normalisations of images. */
package dev.millrace.tensor.math.conv;
