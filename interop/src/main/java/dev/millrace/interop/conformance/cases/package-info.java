/**
 * The conformance cases, one table per family of ops. {@link
 * dev.millrace.interop.conformance.cases.AllCases} lists the tables.
 */
package dev.millrace.interop.conformance.cases;
