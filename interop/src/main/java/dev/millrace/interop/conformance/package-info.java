/**
 * Whether an engine computes what TensorFlow computes. An {@link
 * dev.millrace.interop.conformance.OpCase} is one op with attributes and inputs, a {@link
 * dev.millrace.interop.conformance.Scenario} a small graph with state run step by step; tables such
 * as {@link dev.millrace.interop.conformance.cases.MathCases} hold them by family. {@link
 * dev.millrace.interop.conformance.OpConformance} runs a case on real TensorFlow and on another
 * {@link dev.millrace.interop.conformance.Engine} and tells the differences: values, shapes, shapes
 * inferred before running, gradients, errors.
 */
package dev.millrace.interop.conformance;
