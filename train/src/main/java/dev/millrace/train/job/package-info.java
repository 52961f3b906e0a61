/**
 * The end of a job of several tasks. {@link dev.millrace.train.job.JobEnd} lets parameter servers
 * wait for the workers' final statuses and end by themselves; {@link
 * dev.millrace.train.job.StopRequest} lets any task ask all of them to stop, with one save by the
 * chief. Both are plain queues and variables on the parameter servers, so a worker that runs
 * TensorFlow can take part.
 */
package dev.millrace.train.job;
