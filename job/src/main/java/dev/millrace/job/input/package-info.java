/** How the training data of a job is dealt to its workers, and how far they are in it. */
package dev.millrace.job.input;
