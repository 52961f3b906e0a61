package dev.millrace.runtime.plan;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Given;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.tensor.Tensor;
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

  /** Refuses nodes of other graphs than {@code graph}. */
  public void checkIn(Graph graph) {
    feeds.forEach(f -> checkIn(graph, f.node()));
    fetches.forEach(f -> checkIn(graph, f.node()));
    targets.forEach(n -> checkIn(graph, n));
  }

  private static void checkIn(Graph graph, Node n) {
    if (n.graph() != graph) {
      throw MillraceException.invalid(
          "'%s' belongs to another graph than the one this session runs.", n.name());
    }
  }

  /** Refuses values that cannot be fed; they are in the order of the feeds. */
  public void checkFeeds(Tensor... values) {
    if (values.length != feeds.size()) {
      throw MillraceException.invalid(
          "The callable takes %d values (%s); %d were given.",
          feeds.size(), feeds.stream().map(Output::name).toList(), values.length);
    }
    for (int i = 0; i < values.length; i++) {
      checkFeed(feeds.get(i), values[i]);
    }
  }

  private static void checkFeed(Output fed, Tensor t) {
    if (t == null) {
      throw MillraceException.invalid("The value fed for '%s' is null.", fed.name());
    }
    if (t.isGone()) {
      throw MillraceException.invalid(
          "The tensor fed for '%s' has been closed. Close it after the run.", fed.name());
    }
    if (t.dtype() != fed.dtype()) {
      throw MillraceException.invalid(
          "Cannot feed a %s tensor for '%s', which is %s.", t.dtype(), fed.name(), fed.dtype());
    }
    if (!fed.shape().isCompatibleWith(t.shape())) {
      throw MillraceException.invalid(
          "Cannot feed value of shape %s for tensor '%s', which has shape %s.",
          t.shape(), fed.name(), fed.shape());
    }
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
