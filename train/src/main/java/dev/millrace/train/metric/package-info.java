/**
 * Metrics of an evaluation, collected batch by batch outside the graph: {@link
 * dev.millrace.train.metric.Metric} is what all of them can do, {@link
 * dev.millrace.train.metric.Examples} what they are given. Workers that evaluate parts of the data
 * merge their states; the result is that of one worker with all of it.
 */
package dev.millrace.train.metric;
