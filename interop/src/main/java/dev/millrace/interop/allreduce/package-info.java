/**
 * All-reduce beside OpenMPI and Gloo: {@link dev.millrace.interop.allreduce.AllReduceBenchmark}.
 */
package dev.millrace.interop.allreduce;
