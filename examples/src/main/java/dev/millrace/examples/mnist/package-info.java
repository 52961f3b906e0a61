/**
 * Handwritten digits: the bundled {@link dev.millrace.examples.mnist.MnistData data} and {@link
 * dev.millrace.examples.mnist.Mnist the job} that trains on them.
 */
package dev.millrace.examples.mnist;
