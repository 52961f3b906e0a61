/**
 * How ops wait for a shared resource to change, without a thread: in line, in order, until served,
 * cancelled with their step, or failed with the resource.
 */
package dev.millrace.ops.waiting;
