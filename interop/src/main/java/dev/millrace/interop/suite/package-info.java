/**
 * The benchmark suites: {@link dev.millrace.interop.suite.Benchmarks} lists every question and who
 * answers it.
 */
package dev.millrace.interop.suite;
