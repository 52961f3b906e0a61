/** Optimizers and initializers as programs outside {@code train} write them. */
package dev.millrace.train.custom;
