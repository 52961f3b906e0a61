/**
 * Whole jobs as users start them, beside the same jobs of Python's TensorFlow: how soon they train,
 * and what they cost. Start with {@link dev.millrace.interop.job.ObservedJob}.
 */
package dev.millrace.interop.job;
