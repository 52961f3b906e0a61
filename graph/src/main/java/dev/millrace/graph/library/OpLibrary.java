package dev.millrace.graph.library;

import dev.millrace.graph.Fusion;
import dev.millrace.graph.Op;
import dev.millrace.graph.OpFamily;
import java.util.Collection;
import java.util.List;

/**
 * A set of ops in a jar of its own. {@link java.util.ServiceLoader} finds it: the jar names the
 * class, which has a public constructor without arguments, in the file {@code
 * META-INF/services/dev.millrace.graph.library.OpLibrary}. With the jar on the class path of a task
 * its ops are in the registry of every graph, session and server there. Every task that builds,
 * imports or runs a graph with these ops needs the jar.
 *
 * <p>Op names are unique over all libraries and Millrace's own ops.
 *
 * <p>Threading: the methods are called once, by the thread that asks for the registry.
 */
public interface OpLibrary {
  /** The ops that are defined as soon as the library is found. */
  default Collection<Op> ops() {
    return List.of();
  }

  /** Ops that are defined when one of them is first looked up, for libraries of many ops. */
  default List<OpFamily> families() {
    return List.of();
  }

  /** Groups of nodes that one kernel runs faster. Millrace's own fusions match first. */
  default List<Fusion> fusions() {
    return List.of();
  }
}
