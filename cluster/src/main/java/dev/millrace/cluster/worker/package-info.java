/**
 * A task's side of the WorkerService: it holds the devices and their state, keeps the graphs
 * masters have registered, and runs steps of them. Start with {@link
 * dev.millrace.cluster.worker.Worker}.
 */
package dev.millrace.cluster.worker;
