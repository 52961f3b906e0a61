/** Bits of whole numbers, and the same bits in another type. */
package dev.millrace.ops.bits;
