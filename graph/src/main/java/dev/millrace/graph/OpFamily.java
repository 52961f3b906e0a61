package dev.millrace.graph;

import java.util.Collection;
import java.util.List;
import java.util.function.Supplier;

/**
 * Ops that are defined on demand, when one of them is first looked up. A program that uses none of
 * them pays only for their names.
 *
 * @param names the names of the ops, in any order
 * @param ops defines them; returns the same ops on every call
 */
public record OpFamily(List<String> names, Supplier<? extends Collection<Op>> ops) {
  /** The family of the ops with these names, separated by blanks. */
  public static OpFamily of(String names, Supplier<? extends Collection<Op>> ops) {
    return new OpFamily(List.of(names.strip().split("\\s+")), ops);
  }
}
