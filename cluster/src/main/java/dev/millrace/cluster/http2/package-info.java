/**
 * gRPC calls below the level of stubs: the method table, status codes, limits on HTTP/2 frames, and
 * RecvTensor streams that move tensors without copying them.
 */
package dev.millrace.cluster.http2;
