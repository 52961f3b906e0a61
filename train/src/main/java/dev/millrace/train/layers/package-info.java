/**
 * Layers, losses and metrics in the graph: functions that add a few ops and the variables they
 * need.
 */
package dev.millrace.train.layers;
