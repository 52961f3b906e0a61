/**
 * Handwritten digits: the bundled {@link dev.millrace.examples.mnist.MnistData data}, the {@link
 * dev.millrace.examples.mnist.MnistModel models}, and one task of {@link
 * dev.millrace.examples.mnist.MnistTraining training} them on a cluster.
 */
package dev.millrace.examples.mnist;
