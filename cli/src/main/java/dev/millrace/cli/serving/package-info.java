/** The commands that predict with a model and serve models. */
package dev.millrace.cli.serving;
