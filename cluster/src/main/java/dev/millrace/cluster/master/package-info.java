/**
 * A task's side of the MasterService: {@link dev.millrace.cluster.master.Master} opens sessions,
 * {@link dev.millrace.cluster.master.MasterSession} plans and runs their steps over the workers.
 */
package dev.millrace.cluster.master;
