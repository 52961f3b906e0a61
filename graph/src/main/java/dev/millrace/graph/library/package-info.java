/**
 * Ops from other jars: {@link dev.millrace.graph.library.OpLibrary} is the service they provide.
 */
package dev.millrace.graph.library;
