package dev.millrace.runtime.plan;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.Preconditions;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.tensor.ClosedTensorException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What a step is asked for: outputs to feed, outputs to fetch, nodes to run. It identifies the plan
 * of the step. Every kind of session checks its callers' mistakes here, so all of them say the
 * same.
 */
public record StepSignature(List<Output> feeds, List<Output> fetches, List<Node> targets) {
  public StepSignature {
    feeds = List.copyOf(Preconditions.all(feeds, "feeds"));
    fetches = List.copyOf(Preconditions.all(fetches, "fetches"));
    targets = List.copyOf(Preconditions.all(targets, "targets"));
  }

  /** The signature that a client names: outputs as {@code node:index}, targets as {@code node}. */
  public static StepSignature named(
      Graph graph, List<String> feeds, List<String> fetches, List<String> targets) {
    return new StepSignature(
        feeds.stream().map(graph::output).toList(),
        fetches.stream().map(graph::output).toList(),
        targets.stream().map(t -> target(graph, t)).toList());
  }

  /** TensorFlow's clients also name a target by one of its outputs. */
  private static Node target(Graph graph, String name) {
    int colon = name.lastIndexOf(':');
    return graph.node(colon > 0 && graph.find(name) == null ? name.substring(0, colon) : name);
  }

  /** The names of the outputs to feed. */
  public List<String> feedNames() {
    return feeds.stream().map(Output::name).toList();
  }

  /** The names of the outputs to fetch. */
  public List<String> fetchNames() {
    return fetches.stream().map(Output::name).toList();
  }

  /** The names of the nodes to run. */
  public List<String> targetNames() {
    return targets.stream().map(Node::name).toList();
  }

  /** Refuses what is no step of {@code graph}, in TensorFlow's words where it has some. */
  public void checkIn(Graph graph) {
    feeds.forEach(f -> checkIn(graph, f.node()));
    fetches.forEach(f -> checkIn(graph, f.node()));
    targets.forEach(n -> checkIn(graph, n));
    if (fetches.isEmpty() && targets.isEmpty()) {
      throw MillraceException.invalid("Must specify at least one target to fetch or execute.");
    }
    Set<Output> fed = new HashSet<>();
    for (Output f : feeds) {
      if (!fed.add(f)) {
        throw MillraceException.invalid("Endpoint %s fed more than once.", f.name());
      }
    }
    for (Output f : fetches) {
      if (fed.contains(f)) {
        throw MillraceException.invalid("%s is both fed and fetched.", f.name());
      }
    }
  }

  private static void checkIn(Graph graph, Node n) {
    if (n.graph() != graph) {
      throw MillraceException.invalid(
          "'%s' belongs to another graph than the one this session runs.", n.name());
    }
  }

  /**
   * The values to feed, in the order of the feeds, as counted tensors that the caller releases
   * after the step: whoever fed them may close them meanwhile. Refuses values that cannot be fed.
   */
  public Tensor[] holdFeeds(Tensor... values) {
    checkFeeds(values);
    Tensor[] held = new Tensor[values.length];
    for (int i = 0; i < values.length; i++) {
      try {
        held[i] = Refs.retain(values[i]);
      } catch (ClosedTensorException e) {
        Refs.releaseAll(held);
        throw closed(feeds.get(i), e);
      }
    }
    return held;
  }

  /** Refuses values that cannot be fed; they are in the order of the feeds. */
  public void checkFeeds(Tensor... values) {
    if (values.length != feeds.size()) {
      throw MillraceException.invalid(
          "The callable takes %d values (%s); %d were given.",
          feeds.size(), feedNames(), values.length);
    }
    for (int i = 0; i < values.length; i++) {
      checkFeed(feeds.get(i), values[i]);
    }
  }

  private static void checkFeed(Output fed, Tensor t) {
    if (t == null) {
      throw MillraceException.invalid("The value fed for '%s' is null.", fed.name());
    }
    DType dtype;
    Shape shape;
    try {
      dtype = t.dtype();
      shape = t.shape();
    } catch (ClosedTensorException e) {
      throw closed(fed, e);
    }
    if (dtype != fed.dtype()) {
      throw MillraceException.invalid(
          "Cannot feed a %s tensor for '%s', which is %s.", dtype, fed.name(), fed.dtype());
    }
    if (!fed.shape().isCompatibleWith(shape)) {
      throw MillraceException.invalid(
          "Cannot feed value of shape %s for tensor '%s', which has shape %s.",
          shape, fed.name(), fed.shape());
    }
  }

  private static MillraceException closed(Output fed, ClosedTensorException e) {
    return new MillraceException(
        Code.INVALID_ARGUMENT, "Cannot feed '" + fed.name() + "': " + e.getMessage(), e);
  }

  /** The targets as a set of names. */
  Set<String> targetSet() {
    return targets.stream().map(Node::name).collect(Collectors.toUnmodifiableSet());
  }
}
