/** Runs the stress tests of all modules, which are in the packages of what they test. */
package dev.millrace.stress;
