/**
 * Predictions per second of a click model, in a program and over the network, beside TensorFlow.
 */
package dev.millrace.interop.serving;
