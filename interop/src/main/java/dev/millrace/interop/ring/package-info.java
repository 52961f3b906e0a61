/**
 * Data-parallel training measured: beside PyTorch, with and without overlap, ring against parameter
 * servers on slow links, and synchronous training on parameter servers beside TensorFlow's. Start
 * with {@link dev.millrace.interop.ring.DataParallel} or {@link
 * dev.millrace.interop.ring.SyncTraining}.
 */
package dev.millrace.interop.ring;
