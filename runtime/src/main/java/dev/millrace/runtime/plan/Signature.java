package dev.millrace.runtime.plan;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Given;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** What a run is asked for: outputs to feed, outputs to fetch, nodes to run. */
public record Signature(List<Output> feeds, List<Output> fetches, List<Node> targets) {
  public Signature {
    feeds = List.copyOf(Given.all(feeds, "feeds"));
    fetches = List.copyOf(Given.all(fetches, "fetches"));
    targets = List.copyOf(Given.all(targets, "targets"));
  }

  /** The names of the nodes to run. */
  public Set<String> targetNames() {
    return targets.stream().map(Node::name).collect(Collectors.toUnmodifiableSet());
  }

  /** Refuses wishes that make no sense, in TensorFlow's words. */
  public void check() {
    if (fetches.isEmpty() && targets.isEmpty()) {
      throw MillraceException.invalid("Must specify at least one target to fetch or execute.");
    }
    Set<Output> fed = new HashSet<>();
    for (Output f : feeds) {
      if (!fed.add(f)) {
        throw MillraceException.invalid("%s is fed twice.", f.name());
      }
    }
    for (Output f : fetches) {
      if (fed.contains(f)) {
        throw MillraceException.invalid("%s is both fed and fetched.", f.name());
      }
    }
  }
}
