/** The {@code doctor} command: checks of this machine and of the network of a cluster. */
package dev.millrace.cli.doctor;
