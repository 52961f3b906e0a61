/**
 * Real TensorFlow, beside which Millrace is tested and measured. {@link
 * dev.millrace.interop.RealTensorFlow} runs a graph in TensorFlow's own C++ runtime inside this
 * process, {@link dev.millrace.interop.TensorFlowServer} is one of its servers in a process of its
 * own, {@link dev.millrace.interop.PythonTensorFlow} runs Python scripts. Start with {@code
 * RealTensorFlow}.
 */
package dev.millrace.interop;
