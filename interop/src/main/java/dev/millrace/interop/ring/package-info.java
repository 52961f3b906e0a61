/**
 * Data-parallel training measured: beside PyTorch, with and without overlap, and ring against
 * parameter servers on slow links. Start with {@link dev.millrace.interop.ring.DataParallel}.
 */
package dev.millrace.interop.ring;
