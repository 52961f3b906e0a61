/** Neural nets: activations, losses, convolutions, pooling and normalisation. */
package dev.millrace.ops.nn;
