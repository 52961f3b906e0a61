/**
 * Queues that outlive steps and carry tensors between them. Start with {@link
 * dev.millrace.ops.queue.Queue}, the resource; the ops are thin around it.
 */
package dev.millrace.ops.queue;
