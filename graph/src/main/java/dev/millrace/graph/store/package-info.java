/**
 * A {@link dev.millrace.graph.resource.VariableStore} in files that outlive the process. Start with
 * {@link dev.millrace.graph.store.ProcessStore}.
 */
package dev.millrace.graph.store;
