/** What a job keeps and shows of its way: the progress of its steps and its best model. */
package dev.millrace.job.report;
