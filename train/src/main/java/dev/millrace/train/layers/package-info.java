/** Layers, losses and metrics: functions that add a few ops and the variables they need. */
package dev.millrace.train.layers;
