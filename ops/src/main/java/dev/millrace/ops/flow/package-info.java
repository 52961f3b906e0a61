/**
 * Control flow: values that go one way or the other ({@link dev.millrace.ops.flow.Switch}), meet
 * again ({@link dev.millrace.ops.flow.Merge}), and go round in loops ({@link
 * dev.millrace.ops.flow.Frames}). What was not chosen is dead, and so is all that depends on it.
 */
package dev.millrace.ops.flow;
