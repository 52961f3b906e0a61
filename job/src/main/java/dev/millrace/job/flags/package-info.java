/** The flags of a program that trains: those of every job and its own. */
package dev.millrace.job.flags;
