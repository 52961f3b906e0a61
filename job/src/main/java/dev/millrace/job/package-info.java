/**
 * A program of one's own: {@link dev.millrace.job.Job} takes a model and its data, and is what the
 * command line, the environment and the mode say: one process, a task of a cluster, a rank.
 */
package dev.millrace.job;
