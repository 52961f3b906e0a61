/** Short programs that show how Millrace is used. */
package dev.millrace.examples;
