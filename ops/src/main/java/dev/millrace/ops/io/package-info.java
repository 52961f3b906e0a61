/** Checkpoints and files as ops, and the strings that name them. */
package dev.millrace.ops.io;
