/**
 * Where the time of training steps goes, always measured: a {@link
 * dev.millrace.base.steps.StepClock} divides each step into phases, a {@link
 * dev.millrace.base.steps.StepHistory} keeps the last minutes of a task by the second, and a {@link
 * dev.millrace.base.steps.ProcessSampler} adds what the process and its host were doing.
 */
@NullMarked
package dev.millrace.base.steps;

import org.jspecify.annotations.NullMarked;
