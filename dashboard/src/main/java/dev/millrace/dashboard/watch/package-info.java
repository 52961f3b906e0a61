/**
 * The tasks of a running job as seen from outside. Start with {@link
 * dev.millrace.dashboard.watch.JobWatch}, which asks them every second.
 */
package dev.millrace.dashboard.watch;
