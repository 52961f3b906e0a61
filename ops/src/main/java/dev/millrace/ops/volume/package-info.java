/** Convolution and pooling over three spatial dimensions. */
package dev.millrace.ops.volume;
