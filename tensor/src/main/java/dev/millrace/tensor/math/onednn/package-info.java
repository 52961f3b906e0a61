/** The native library oneDNN, bound through the foreign function interface. */
package dev.millrace.tensor.math.onednn;
