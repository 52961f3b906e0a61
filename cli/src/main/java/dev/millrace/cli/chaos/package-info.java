/**
 * {@code millrace chaos}: a job whose processes are killed and paused, and whose history is
 * checked.
 */
package dev.millrace.cli.chaos;
