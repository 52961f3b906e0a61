package dev.millrace.cluster.http2;

import dev.millrace.tensor.Tensor;

/** What RecvTensor answers: a tensor with a counted reference, or word that it is dead. */
public record ReceivedTensor(Tensor value, boolean dead) {}
