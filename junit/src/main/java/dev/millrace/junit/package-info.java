/**
 * For tests of programs that use Millrace: {@link dev.millrace.junit.TestCluster} gives a test a
 * cluster in its own process.
 */
package dev.millrace.junit;
