package dev.millrace.graph.gradient;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.op.GradientContext;
import dev.millrace.graph.op.Op;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeMap;

/**
 * Adds to a graph the computation of d(sum of ys)/dx for each x.
 *
 * <p>The nodes that lie on a path from an x to a y are taken in reverse order of their creation,
 * which is a reverse topological order, as a node can only use what existed before it. When a
 * node's turn comes, the gradients of its outputs are complete; they are added up and the op's
 * {@link dev.millrace.graph.op.Gradient} turns them into gradients of its inputs.
 */
public final class Gradients {
  private final Scope scope;
  private final boolean colocate;

  /** What has come back so far for each output. */
  private final Map<Output, List<Grad>> back = new HashMap<>();

  private Gradients(Scope scope, boolean colocate) {
    this.scope = scope;
    this.colocate = colocate;
  }

  /** The gradients of the sum of {@code ys} with respect to each of {@code xs}. */
  public static List<Grad> of(Scope scope, List<Output> ys, List<Output> xs) {
    return of(scope, ys, xs, false);
  }

  /**
   * Likewise; with {@code colocate} each gradient op is placed with the op it is the gradient of.
   */
  public static List<Grad> of(Scope scope, List<Output> ys, List<Output> xs, boolean colocate) {
    return new Gradients(scope.withSubScope("gradients"), colocate).build(ys, xs);
  }

  private List<Grad> build(List<Output> ys, List<Output> xs) {
    Set<Node> between = between(ys, xs);
    PriorityQueue<Node> queue = new PriorityQueue<>(Comparator.comparingInt(Node::id).reversed());
    Set<Node> queued = new HashSet<>();
    for (Output y : ys) {
      if (!y.dtype().isFloating()) {
        throw MillraceException.invalid(
            "'%s' is %s; only floating-point tensors have gradients.", y.name(), y.dtype());
      }
      add(y, new Grad.Dense(scope.withName("grad_ys").node("OnesLike").input(y).add().output()));
      if (between.contains(y.node()) && queued.add(y.node())) {
        queue.add(y.node());
      }
    }
    Set<Output> goals = new HashSet<>(xs);
    Map<Output, Grad> found = new HashMap<>();
    while (!queue.isEmpty()) {
      Node node = queue.poll();
      for (Output out : node.outputs()) {
        if (goals.contains(out) && back.containsKey(out)) {
          found.put(out, total(out));
        }
      }
      boolean wanted =
          node.inputs().stream().anyMatch(in -> in != null && between.contains(in.node()));
      if (wanted && node.outputs().stream().anyMatch(back::containsKey)) {
        propagate(node, between);
      }
      for (Output in : node.inputs()) {
        if (in != null && between.contains(in.node()) && back.containsKey(in)) {
          if (queued.add(in.node())) {
            queue.add(in.node());
          }
        }
      }
    }
    List<Grad> result = new ArrayList<>();
    for (Output x : xs) {
      result.add(
          found.containsKey(x) ? found.get(x) : back.containsKey(x) ? total(x) : new Grad.None());
    }
    return result;
  }

  /** The nodes on some path of floating-point values from an x to a y, both ends included. */
  private static Set<Node> between(List<Output> ys, List<Output> xs) {
    Set<Node> goals = new HashSet<>();
    xs.forEach(x -> goals.add(x.node()));
    Set<Node> above = new HashSet<>();
    Deque<Node> stack = new ArrayDeque<>();
    for (Output y : ys) {
      if (above.add(y.node())) {
        stack.push(y.node());
      }
    }
    List<Node> order = new ArrayList<>();
    while (!stack.isEmpty()) {
      Node n = stack.pop();
      order.add(n);
      for (Output in : n.inputs()) {
        if (in != null && carries(in) && above.add(in.node())) {
          stack.push(in.node());
        }
      }
    }
    order.sort(Comparator.comparingInt(Node::id));
    Set<Node> between = new HashSet<>();
    for (Node n : order) {
      boolean leads =
          goals.contains(n)
              || n.inputs().stream()
                  .anyMatch(in -> in != null && carries(in) && between.contains(in.node()));
      if (leads) {
        between.add(n);
      }
    }
    return between;
  }

  private static boolean carries(Output o) {
    return o.dtype().isFloating() || o.dtype() == DType.RESOURCE;
  }

  private void add(Output out, Grad g) {
    back.computeIfAbsent(out, o -> new ArrayList<>(2)).add(g);
  }

  private void propagate(Node node, Set<Node> between) {
    Op op = node.op();
    if (op.gradient() == null) {
      return;
    }
    Scope s = scope.withSubScope(node.name() + "_grad");
    Turn turn = new Turn(node, colocate ? s.colocatedWith(node) : s);
    op.gradient().build(turn);
    turn.gate().forEach((i, g) -> leave(node.input(i), g, between));
  }

  /** All that came back for {@code out}, added up once and then kept as a single gradient. */
  private Grad total(Output out) {
    List<Grad> parts = back.get(out);
    if (parts.size() == 1) {
      return parts.getFirst();
    }
    Grad sum;
    if (parts.stream().allMatch(Grad.Rows.class::isInstance)) {
      List<Grad.Rows> rows = parts.stream().map(Grad.Rows.class::cast).toList();
      sum =
          new Grad.Rows(
              concat(rows.stream().map(Grad.Rows::values).toList()),
              concat(rows.stream().map(Grad.Rows::indices).toList()),
              rows.getFirst().denseShape());
    } else {
      List<Output> dense = parts.stream().map(p -> dense(p)).toList();
      sum = new Grad.Dense(scope.node("AddN").inputs(dense).add().output());
    }
    parts.clear();
    parts.add(sum);
    return sum;
  }

  private Output concat(List<Output> parts) {
    Output axis =
        scope.node("Const").attr("value", zero()).attr("dtype", zero().dtype()).add().output();
    return scope.node("ConcatV2").inputs(parts).input(axis).add().output();
  }

  private static Tensor zero() {
    return Tensor.scalar(0);
  }

  /** A gradient as one tensor. */
  private Output dense(Grad g) {
    return dense(scope, g);
  }

  /** A gradient as one tensor; rows are added into zeros of the whole shape. */
  public static Output dense(Scope scope, Grad g) {
    return switch (g) {
      case Grad.Dense d -> d.value();
      case Grad.Rows r -> {
        Output first =
            scope
                .node("StridedSlice")
                .input(r.denseShape())
                .input(ints(scope, 0))
                .input(ints(scope, 1))
                .input(ints(scope, 1))
                .attr("shrink_axis_mask", 1)
                .add()
                .output();
        yield scope
            .node("UnsortedSegmentSum")
            .input(r.values())
            .input(r.indices())
            .input(first)
            .add()
            .output();
      }
      case Grad.None n -> throw new IllegalArgumentException("there is no gradient");
    };
  }

  private static Output ints(Scope scope, int v) {
    Tensor t = Tensor.vector(v);
    return scope.node("Const").attr("value", t).attr("dtype", t.dtype()).add().output();
  }

  private void leave(Output in, Grad g, Set<Node> between) {
    if (between.contains(in.node())) {
      add(in, g);
    }
  }

  /** One node's turn. */
  private final class Turn implements GradientContext {
    private final Node node;
    private final Scope nodeScope;

    /** What was left for each input, in the order of the inputs. */
    private final Map<Integer, Grad> left = new TreeMap<>();

    Turn(Node node, Scope nodeScope) {
      this.node = node;
      this.nodeScope = nodeScope;
    }

    /**
     * Where a node has several gradients, each is held back until all are there. An update of a
     * reference variable by one of them would else change what another still has to read.
     */
    Map<Integer, Grad> gate() {
      if (left.size() < 2) {
        return left;
      }
      List<Node> all = new ArrayList<>();
      for (Grad g : left.values()) {
        Node n = valueOf(g).node();
        if (!all.contains(n)) {
          all.add(n);
        }
      }
      Scope tuple = nodeScope.withoutColocation().withSubScope("tuple");
      Node together = tuple.withControlInputs(all).withName("group_deps").node("NoOp").add();
      Map<Integer, Grad> gated = new TreeMap<>();
      left.forEach((i, g) -> gated.put(i, gated(tuple.withControlInputs(together), g)));
      return gated;
    }

    private static Output valueOf(Grad g) {
      return switch (g) {
        case Grad.Dense d -> d.value();
        case Grad.Rows r -> r.values();
        case Grad.None n -> throw new IllegalStateException("no gradient was left");
      };
    }

    private static Grad gated(Scope after, Grad g) {
      Output value = valueOf(g);
      Output held =
          after
              .withName("control_dependency")
              .colocatedWith(value.node())
              .node("Identity")
              .input(value)
              .add()
              .output();
      return g instanceof Grad.Rows r
          ? new Grad.Rows(held, r.indices(), r.denseShape())
          : new Grad.Dense(held);
    }

    @Override
    public Scope scope() {
      return nodeScope;
    }

    @Override
    public Node node() {
      return node;
    }

    @Override
    public boolean hasGradient(int i) {
      return back.containsKey(node.output(i));
    }

    @Override
    public Output dy(int i) {
      Output out = node.output(i);
      return hasGradient(i)
          ? dense(total(out))
          : nodeScope.node("ZerosLike").input(out).add().output();
    }

    @Override
    public void pass(int o, int i) {
      if (hasGradient(o)) {
        left.put(i, total(node.output(o)));
      }
    }

    @Override
    public void dx(int i, Output gradient) {
      left.put(i, new Grad.Dense(gradient));
    }

    @Override
    public void dxRows(int i, Output values, Output indices, Output denseShape) {
      left.put(i, new Grad.Rows(values, indices, denseShape));
    }
  }
}
