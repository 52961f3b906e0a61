/**
 * How workers agree: {@link dev.millrace.train.sync.SyncReplicasOptimizer} has them make each step
 * together, {@link dev.millrace.train.sync.BoundedStaleness} lets none run further ahead than so
 * many steps, and without either they are asynchronous. {@link
 * dev.millrace.train.sync.StalenessHook} measures how old what they compute with is.
 */
package dev.millrace.train.sync;
