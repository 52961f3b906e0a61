/**
 * Codecs between TensorFlow's messages and Millrace's types: {@link dev.millrace.wire.TensorCodec},
 * {@link dev.millrace.wire.GraphCodec}. They validate input from outside: sizes before allocating
 * memory, names before using them.
 */
@NullMarked
package dev.millrace.wire;

import org.jspecify.annotations.NullMarked;
