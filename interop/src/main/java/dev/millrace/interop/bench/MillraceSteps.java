package dev.millrace.interop.bench;

import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Millrace running one step again and again with the same feeds. */
final class MillraceSteps implements Contender {
  private final String name;
  private final Session session;
  private final Session.Callable step;
  private final Tensor[] feeds;

  MillraceSteps(
      String name,
      Graph graph,
      Session session,
      Map<String, Tensor> feeds,
      List<String> fetches,
      List<String> targets) {
    this.name = name;
    this.session = session;
    List<String> names = List.copyOf(feeds.keySet());
    this.feeds = names.stream().map(feeds::get).toArray(Tensor[]::new);
    List<Output> fetched = fetches.stream().map(graph::output).toList();
    List<Node> run = targets.stream().map(graph::node).toList();
    this.step = session.makeCallable(names.stream().map(graph::output).toList(), fetched, run);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Sample run(Duration duration) {
    return Sample.of(this::step, duration);
  }

  private void step() {
    for (Tensor fetched : step.run(feeds)) {
      fetched.close();
    }
  }

  @Override
  public void close() {
    session.close();
  }
}
