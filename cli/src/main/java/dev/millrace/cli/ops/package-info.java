/** The command {@code ops}: which of TensorFlow's ops are here. */
package dev.millrace.cli.ops;
