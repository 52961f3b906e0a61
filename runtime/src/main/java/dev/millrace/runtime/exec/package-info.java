/**
 * Running a graph that has been pruned, placed and partitioned: {@link
 * dev.millrace.runtime.exec.CompiledGraph} is one device's part, ready to run; {@link
 * dev.millrace.runtime.exec.StepRun} is one execution of it.
 */
package dev.millrace.runtime.exec;
