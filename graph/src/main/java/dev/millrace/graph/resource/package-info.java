/**
 * The state of a task that outlives steps: variables and the table of all resources by name. {@link
 * dev.millrace.graph.resource.VariableStore} is where that state is kept.
 */
package dev.millrace.graph.resource;
