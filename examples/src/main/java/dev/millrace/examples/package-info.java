/**
 * Short programs that read like TensorFlow's tutorials, one file each, for those who know the
 * Python version. {@link dev.millrace.examples.Example} lists them; {@code millrace example NAME}
 * runs one.
 */
package dev.millrace.examples;
