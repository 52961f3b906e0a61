/** Commands that ask a running cluster, and the flags that describe one. */
package dev.millrace.cli.cluster;
