/** Training data in Arrow's IPC files. */
package dev.millrace.train.data.arrow;
