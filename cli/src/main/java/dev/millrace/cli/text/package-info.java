/**
 * Forms in which commands print what they know: {@link dev.millrace.cli.text.Table tables} and
 * {@link dev.millrace.cli.text.Plot plots} for people, {@link dev.millrace.cli.text.Json} and
 * {@link dev.millrace.cli.text.Yaml} for programs.
 */
package dev.millrace.cli.text;
