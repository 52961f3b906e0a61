package dev.millrace.tensor.math.elementwise;

/** What a loop can compute for each element: a number or a truth value. */
sealed interface Expression permits Formula, Condition {}
