/** Values of variant tensors that several families of ops use. */
package dev.millrace.ops.value;
