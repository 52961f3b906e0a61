/**
 * The hooks most trainings need: {@link dev.millrace.train.hook.StopAtStepHook stop}, {@link
 * dev.millrace.train.hook.CheckpointSaverHook save}, {@link
 * dev.millrace.train.hook.SummarySaverHook summarise}, {@link
 * dev.millrace.train.hook.LoggingTensorHook log}, {@link dev.millrace.train.hook.NanTensorHook
 * notice that the loss is not a number}, and so on.
 */
package dev.millrace.train.hook;
