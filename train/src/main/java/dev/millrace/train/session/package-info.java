/**
 * Sessions that train: {@link dev.millrace.train.session.MonitoredTrainingSession} initialises or
 * restores the model, calls {@link dev.millrace.train.hook.SessionRunHook hooks} around every step,
 * and goes on after a task was lost. It stands on any {@link dev.millrace.runtime.Session}, in this
 * process or on a cluster.
 */
package dev.millrace.train.session;
