package dev.millrace.train.variable;

import dev.millrace.storage.checkpoint.ShapeAndSlice;

/** Which part of which partitioned variable a variable is. */
public record VariablePart(String whole, ShapeAndSlice slice) {}
