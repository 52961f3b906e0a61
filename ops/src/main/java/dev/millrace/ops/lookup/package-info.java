/**
 * Tables from keys to values that outlive steps: vocabularies and what a program has counted. Start
 * with {@link dev.millrace.ops.lookup.LookupTable}.
 */
package dev.millrace.ops.lookup;
