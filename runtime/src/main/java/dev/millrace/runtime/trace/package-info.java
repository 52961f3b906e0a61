/** What ran when in a step: {@link dev.millrace.runtime.trace.StepTrace}. */
package dev.millrace.runtime.trace;
