/**
 * Predictions of SavedModels in this process. {@link dev.millrace.serving.Predictor} is where to
 * begin.
 */
package dev.millrace.serving;
