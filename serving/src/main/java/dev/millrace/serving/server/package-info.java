/** A server of models: its ports over the models it serves. */
package dev.millrace.serving.server;
