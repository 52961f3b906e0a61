/** The {@code launch} command: starts the ranks of a job on this host or by ssh on others. */
package dev.millrace.cli.launch;
