/**
 * From a graph and a wish (feeds, fetches, targets) to something that can run: {@link
 * dev.millrace.runtime.plan.ClientGraph} prunes, {@link dev.millrace.runtime.plan.Placer} gives
 * every node a device, {@link dev.millrace.runtime.plan.GraphPartitioner} cuts the graph at device
 * boundaries.
 */
package dev.millrace.runtime.plan;
