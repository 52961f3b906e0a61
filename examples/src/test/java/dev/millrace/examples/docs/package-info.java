/**
 * The Java samples of the documentation, as tests. A part of the form {@code // sample name} up to
 * {@code // end} stands in a page of {@code docs/} below {@code <!-- sample File name -->}; {@link
 * dev.millrace.examples.docs.DocumentedSamplesTest} holds the two against each other.
 */
package dev.millrace.examples.docs;
