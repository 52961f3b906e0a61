/**
 * Running graphs: a {@link dev.millrace.runtime.Session} takes feeds and fetches to a graph; {@link
 * dev.millrace.runtime.LocalSession} does so in this process.
 */
package dev.millrace.runtime;
