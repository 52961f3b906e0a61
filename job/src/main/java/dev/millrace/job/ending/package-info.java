/** How the tasks of a job end together: on request, early, or with the last epoch. */
package dev.millrace.job.ending;
