package dev.millrace.cluster.transport;

import dev.millrace.tensor.Tensor;

/** What RecvTensor answers: a tensor with a counted reference, or word that it is dead. */
record ReceivedTensor(Tensor value, boolean dead) {}
