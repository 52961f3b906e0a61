package dev.millrace.graph;

import dev.millrace.base.Closest;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.name.DeviceSpec;
import dev.millrace.tensor.DType;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Builds a node. Inputs are given argument by argument in the op's order. Attributes that follow
 * from them (element types, list lengths) may be omitted.
 *
 * <p>Threading: one thread at a time.
 */
public final class NodeBuilder {
  private final Scope scope;
  private final Op op;
  private final List<List<Output>> args = new ArrayList<>();
  private final List<Node> controls = new ArrayList<>();
  private final Map<String, AttrValue> attrs = new LinkedHashMap<>();
  private String name;

  NodeBuilder(Scope scope, Op op) {
    this.scope = scope;
    this.op = op;
  }

  /** The op the node will be of. */
  public Op op() {
    return op;
  }

  /** The node's name; known once it is being added, so to device functions. */
  public String name() {
    return name;
  }

  /** The device that the enclosing scopes request; a device function fills the unset parts. */
  public DeviceSpec device() {
    return scope.device();
  }

  /** An attribute given so far, or null. */
  public AttrValue attr(String name) {
    return attrs.get(name);
  }

  /** The next argument, a single output. */
  public NodeBuilder input(Output in) {
    if (in == null) {
      throw MillraceException.invalid("%s: input %d is null.", subject(), args.size());
    }
    args.add(List.of(scope.standIn(in)));
    return this;
  }

  /**
   * The next argument, a list of outputs; null but for the first where {@link
   * Graph#connectBackEdge} is to follow.
   */
  public NodeBuilder inputs(List<Output> list) {
    if (list == null) {
      throw MillraceException.invalid("%s: input %d is a list, and null.", subject(), args.size());
    }
    List<Output> used = new ArrayList<>();
    list.forEach(in -> used.add(in == null ? null : scope.standIn(in)));
    args.add(Collections.unmodifiableList(used));
    return this;
  }

  /** Sets an attribute; see {@link AttrValue#of} for what may be given. */
  public NodeBuilder attr(String name, Object value) {
    try {
      attrs.put(name, AttrValue.of(value));
    } catch (MillraceException e) {
      throw e.withMessage(subject() + ": attribute '" + name + "': " + e.getMessage());
    }
    return this;
  }

  /** The node runs only after {@code node}. */
  public NodeBuilder control(Node node) {
    if (node == null) {
      throw MillraceException.invalid("%s: a control input is null.", subject());
    }
    controls.add(node);
    return this;
  }

  /** Adds the node to the graph. */
  public Node add() {
    if (args.size() != op.inputs().size()) {
      throw MillraceException.invalid(
          "%s takes %d arguments (%s); %d were given.",
          subject(), op.inputs().size(), op.inputs(), args.size());
    }
    attrs.keySet().forEach(this::checkKnown);
    List<Output> flat = new ArrayList<>();
    for (int i = 0; i < args.size(); i++) {
      derive(op.inputs().get(i), args.get(i));
      flat.addAll(args.get(i));
    }
    List<Node> after = new ArrayList<>(scope.controls());
    controls.stream().filter(c -> !after.contains(c)).forEach(after::add);
    if (!scope.colocated().isEmpty() && !attrs.containsKey("_class")) {
      attr("_class", scope.colocated().stream().map(n -> "loc:@" + n).toList());
    }
    name = scope.nameFor(op);
    return scope.graph().add(name, op, scope.deviceFor(this), attrs, flat, after);
  }

  /** The node as messages name it. */
  private String subject() {
    return op.name() + " '" + scope.wantedName(op) + "'";
  }

  /**
   * Refuses unknown attributes, which are probably misspelt. Attributes that begin with _ are
   * allowed.
   */
  private void checkKnown(String attr) {
    if (!attr.startsWith("_") && !op.attrs().containsKey(attr)) {
      throw MillraceException.invalid(
          "%s has no attribute '%s'.%s", subject(), attr, Closest.hint(attr, op.attrs().keySet()));
    }
  }

  /** Sets the attributes that follow from what was given for {@code arg}. */
  private void derive(Op.Arg arg, List<Output> given) {
    if (arg.numberAttr() != null) {
      attrs.putIfAbsent(arg.numberAttr(), new AttrValue.Int(given.size()));
    } else if (arg.typeListAttr() != null) {
      List<DType> types = given.stream().map(Output::dtype).toList();
      attrs.putIfAbsent(arg.typeListAttr(), AttrValue.of(types));
      return;
    } else if (given.size() != 1) {
      throw MillraceException.invalid(
          "%s: argument '%s' is a single tensor; %d were given.",
          subject(), arg.name(), given.size());
    }
    if (arg.typeAttr() != null && !given.isEmpty()) {
      attrs.putIfAbsent(arg.typeAttr(), new AttrValue.Type(given.getFirst().dtype()));
    }
  }
}
