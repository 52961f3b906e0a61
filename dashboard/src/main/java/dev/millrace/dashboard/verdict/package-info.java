/**
 * What slows a job: {@link dev.millrace.dashboard.verdict.JobVerdict} is one sentence, and {@link
 * dev.millrace.dashboard.verdict.Judge} finds it from the figures of the tasks alone.
 */
package dev.millrace.dashboard.verdict;
