/**
 * Processes, time and a network in one thread of a test. The threads of all simulated processes
 * take turns on the thread that runs the {@link dev.millrace.simulation.Simulation}; a seed decides
 * which is next and how long each message travels. Time moves only while no thread can run, so
 * minutes of waiting cost nothing. The same seed gives the same history.
 *
 * <p>The JVM of such a test needs {@code --add-opens java.base/java.lang=ALL-UNNAMED}.
 */
package dev.millrace.simulation;
