/**
 * Columns of rows, whatever they are read from: {@link dev.millrace.train.data.column.Column} says
 * what a column is and which fields it has, {@link dev.millrace.train.data.column.Cells} writes its
 * values into native memory.
 */
package dev.millrace.train.data.column;
