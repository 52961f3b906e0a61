package dev.millrace.train.optimizer;

import dev.millrace.graph.gradient.Grad;
import dev.millrace.train.variable.GraphVariable;

/** The gradient of a loss by a variable. */
public record GradientAndVariable(Grad gradient, GraphVariable variable) {}
