/** Products, means and extrema of the rows that belong to the same segment. */
package dev.millrace.ops.segment;
