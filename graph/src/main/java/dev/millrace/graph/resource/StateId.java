package dev.millrace.graph.resource;

/**
 * The name of a variable or other state within a task.
 *
 * @param device the device it is on, without the name of the task: {@code CPU:0}
 * @param container its container, {@code localhost} by default
 * @param name its name in the container
 */
public record StateId(String device, String container, String name) {}
