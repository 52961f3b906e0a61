/**
 * How elements of several ranks become one: the {@link dev.millrace.collective.reduce.ReduceOp
 * operations} and the {@link dev.millrace.collective.reduce.Reducer loops} that apply them to
 * native memory. Nothing here knows of ranks or networks.
 */
package dev.millrace.collective.reduce;
