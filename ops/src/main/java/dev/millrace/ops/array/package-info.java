/** Constants, placeholders, and ops that arrange elements without computing on them. */
package dev.millrace.ops.array;
