/**
 * Between TensorFlow's messages and Millrace's types: {@link dev.millrace.wire.TensorCodec}, {@link
 * dev.millrace.wire.GraphCodec}. What comes from outside is checked here: sizes before memory is
 * taken, names before they are used.
 */
package dev.millrace.wire;
