/** Models that are served: their versions, what can be asked of them, limits and metrics. */
package dev.millrace.serving.served;
