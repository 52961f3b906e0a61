package dev.millrace.graph.op;

import java.util.Collection;
import java.util.List;
import java.util.function.Supplier;

/**
 * Ops that are defined when one of them is first asked for. A program that uses none of them pays
 * for their names alone.
 *
 * @param names the names of the ops, in any order
 * @param ops defines them; asked again it gives the same
 */
public record OpFamily(List<String> names, Supplier<? extends Collection<Op>> ops) {
  /** The family of the ops with these names, separated by blanks. */
  public static OpFamily of(String names, Supplier<? extends Collection<Op>> ops) {
    return new OpFamily(List.of(names.strip().split("\\s+")), ops);
  }
}
