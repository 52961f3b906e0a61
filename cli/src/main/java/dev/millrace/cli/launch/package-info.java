/**
 * Starts and supervises the processes of a job, on this host or by ssh on others: {@code run} for
 * every kind of job, {@code launch} for the ranks of a ring.
 */
package dev.millrace.cli.launch;
