/**
 * The element types that loops are made for, and their vectors where the JVM has the Vector API.
 * Nothing but {@link dev.millrace.tensor.math.lanes.LaneVectors} needs it.
 */
package dev.millrace.tensor.math.lanes;
