/**
 * What is measured beside real TensorFlow. A {@link dev.millrace.interop.bench.Contender} is one
 * runtime doing one thing; a {@link dev.millrace.interop.bench.Match} lets several do it in turns
 * on the same machine, because its clock wanders more between minutes than the contenders differ.
 * Start with {@link dev.millrace.interop.suite.Benchmarks}.
 */
package dev.millrace.interop.bench;
