package dev.millrace.train.variable;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.state.Assign;
import dev.millrace.ops.state.VariableV2;
import dev.millrace.storage.checkpoint.ShapeAndSlice;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.graph.GraphKeys;
import java.util.ArrayList;
import java.util.List;

/**
 * Where variables are made: a name prefix of their own beside the {@link Scope} of the ops, and
 * whether they are new or shared. Entering a scope of the same name twice gives ops new names and,
 * with reuse, the same variables. A value, like {@link Scope}.
 */
public final class VariableScope {
  private final Scope scope;
  private final String prefix;
  private final Reuse reuse;
  private final boolean resource;
  private final boolean trainable;
  private final String collection;
  private final Initializer initializer;

  private VariableScope(
      Scope scope,
      String prefix,
      Reuse reuse,
      boolean resource,
      boolean trainable,
      String collection,
      Initializer initializer) {
    this.scope = scope;
    this.prefix = prefix;
    this.reuse = reuse;
    this.resource = resource;
    this.trainable = trainable;
    this.collection = collection;
    this.initializer = initializer;
  }

  /** The outermost variable scope over {@code scope}, whose prefix variables do not take on. */
  public static VariableScope of(Scope scope) {
    return new VariableScope(
        scope,
        "",
        Reuse.NEW,
        false,
        true,
        GraphKeys.GLOBAL_VARIABLES,
        Initializers.glorotUniform());
  }

  /** Where the ops go that use the variables. */
  public Scope scope() {
    return scope;
  }

  /** The graph that variables are added to. */
  public Graph graph() {
    return scope.graph();
  }

  /** The names of variables made here begin with this: empty, or ending in a slash. */
  public String prefix() {
    return prefix;
  }

  /** The scope {@code name/} for variables, and a fresh one of that name for ops. */
  public VariableScope withSubScope(String name) {
    return with(scope.withSubScope(name), prefix + name + "/");
  }

  /** The same variables with ops added through another scope. */
  public VariableScope withScope(Scope ops) {
    return with(ops, prefix);
  }

  /** The scope whose variables have no prefix, with this one's other settings. */
  public VariableScope outermost() {
    return with(scope, "");
  }

  /** What becomes of a variable that is there already. */
  public VariableScope withReuse(Reuse mode) {
    return new VariableScope(scope, prefix, mode, resource, trainable, collection, initializer);
  }

  /** Makes resource variables instead of reference variables, or the other way round. */
  public VariableScope withResources(boolean use) {
    return new VariableScope(scope, prefix, reuse, use, trainable, collection, initializer);
  }

  /** Whether optimizers change the variables made here unless told otherwise. */
  public VariableScope withTrainable(boolean yes) {
    return new VariableScope(scope, prefix, reuse, resource, yes, collection, initializer);
  }

  /** Keeps the variables made here under this key instead of with the global ones. */
  public VariableScope withCollection(String key) {
    return new VariableScope(scope, prefix, reuse, resource, trainable, key, initializer);
  }

  /** What variables start with for which nothing else is given. */
  public VariableScope withInitializer(Initializer i) {
    return new VariableScope(scope, prefix, reuse, resource, trainable, collection, i);
  }

  private VariableScope with(Scope s, String p) {
    return new VariableScope(s, p, reuse, resource, trainable, collection, initializer);
  }

  /** A float variable with this scope's usual initial value. */
  public GraphVariable variable(String name, Shape shape) {
    return variable(name, DType.FLOAT, shape, initializer);
  }

  /** A float variable. */
  public GraphVariable variable(String name, Shape shape, Initializer initial) {
    return variable(name, DType.FLOAT, shape, initial);
  }

  /** The variable called {@code name} in this scope, made now or before as {@link Reuse} says. */
  public GraphVariable variable(String name, DType dtype, Shape shape, Initializer initial) {
    String full = prefix + name;
    GraphVariable old = Variables.find(graph(), full);
    checkReuse(full, old, dtype, shape);
    return old != null ? old : make(full, dtype, shape, "Initializer", initial, null);
  }

  /** Fails unless a variable that is there, or null, may become one called {@code full}. */
  private void checkReuse(String full, GraphVariable old, DType dtype, Shape shape) {
    if (old == null) {
      if (reuse == Reuse.EXISTING) {
        throw MillraceException.invalid(
            "Variable '%s' does not exist, but is to be reused. Make it first, or use Reuse.AUTO.",
            full);
      }
      return;
    }
    if (reuse == Reuse.NEW) {
      throw MillraceException.invalid(
          "Variable '%s' already exists (%s). Use another name, or Reuse.AUTO to share it.",
          full, old);
    }
    if (old.dtype() != dtype || !old.shape().isCompatibleWith(shape)) {
      throw MillraceException.invalid(
          "Variable '%s' is to be shared as %s%s, but was made as %s%s.",
          full, dtype, shape, old.dtype(), old.shape());
    }
  }

  /**
   * A new variable {@code v/name} of the type and shape of {@code v}. If that is a part of another,
   * this is the same part of one called {@code name} below the whole, in checkpoints too.
   */
  public GraphVariable below(GraphVariable v, String name, Initializer initial) {
    String full = v.name() + "/" + name;
    checkReuse(full, Variables.find(graph(), full), v.dtype(), v.shape());
    VariablePart part =
        v.part() == null ? null : new VariablePart(v.part().whole() + "/" + name, v.part().slice());
    return make(full, v.dtype(), v.shape(), "Initializer", initial, part);
  }

  /**
   * A new variable that starts with {@code value} and is called {@code name} or, if that is taken,
   * that with a suffix: what {@code tf.Variable(value)} makes.
   */
  public GraphVariable startingWith(String name, Tensor value) {
    String free = scope.reopened(prefix).withSubScope(name).prefix();
    return make(
        free.substring(0, free.length() - 1),
        value.dtype(),
        value.shape(),
        resource ? "Initializer" : null,
        (s, dtype, shape) -> Const.of(s.withName("initial_value"), value),
        null);
  }

  /**
   * The variable called {@code name} in this scope cut into parts, each a variable {@code
   * name/part_0}, {@code name/part_1} and so on, placed on its own. In checkpoints they are slices
   * of one tensor, so they can be restored in other parts or as a whole.
   */
  public PartitionedVariable partitioned(
      String name, DType dtype, Shape shape, Initializer initial, VariablePartitioner partitioner) {
    String full = prefix + name;
    List<PartitionedVariable.Piece> pieces =
        PartitionedVariable.pieces(shape, partitioner.partition(shape, dtype));
    List<GraphVariable> parts = new ArrayList<>();
    for (int i = 0; i < pieces.size(); i++) {
      PartitionedVariable.Piece piece = pieces.get(i);
      String part = full + "/part_" + i;
      ShapeAndSlice slice = new ShapeAndSlice(shape, piece.slice());
      GraphVariable old = Variables.find(graph(), part);
      checkReuse(part, old, dtype, piece.shape());
      parts.add(
          old != null
              ? old
              : make(
                  part,
                  dtype,
                  piece.shape(),
                  "Initializer",
                  initial.forPart(slice),
                  new VariablePart(full, slice)));
    }
    return new PartitionedVariable(full, dtype, shape, PartitionedVariable.axis(pieces), parts);
  }

  /**
   * Makes the nodes of a variable. The initial value comes first and is asked to be where the
   * variable will be, without a device of its own.
   */
  private GraphVariable make(
      String name,
      DType dtype,
      Shape shape,
      String initialScope,
      Initializer initial,
      VariablePart part) {
    Scope root = scope.withoutControlInputs().reopened(name + "/");
    boolean follows = root.isColocated();
    Scope placed = follows ? root : root.colocatedWith(name);
    Scope init = follows ? root : root.withDevice((String) null).colocatedWith(name);
    Output value =
        initial.of(
            initialScope == null ? init : init.reopened(name + "/" + initialScope + "/"),
            dtype,
            shape);
    GraphVariable v =
        resource
            ? resource(name, placed, follows, dtype, shape, value, part)
            : reference(placed, dtype, shape, value, part);
    List<Object> all = graph().collection(collection);
    all.add(v);
    if (trainable) {
      graph().collection(GraphKeys.TRAINABLE_VARIABLES).add(v);
    }
    return v;
  }

  private GraphVariable reference(
      Scope placed, DType dtype, Shape shape, Output value, VariablePart part) {
    Output ref = VariableV2.of(placed.asNode(), dtype, shape);
    Scope with = placed.colocatedWith(ref.node());
    Node assign = Assign.of(with.withName("Assign"), ref, value);
    Output read = Identity.of(with.withName("read"), ref);
    return new GraphVariable(ref, read, value, assign, dtype, shape, trainable, part);
  }

  private GraphVariable resource(
      String name,
      Scope placed,
      boolean follows,
      DType dtype,
      Shape shape,
      Output value,
      VariablePart part) {
    Output handle =
        placed
            .asNode()
            .node("VarHandleOp")
            .attr("shared_name", name)
            .attr("debug_name", name + "/")
            .attr("dtype", dtype)
            .attr("shape", shape)
            .add()
            .output();
    String device = handle.node().device();
    Scope beside = follows ? placed : placed.withoutColocation();
    beside.reopened(name + "/IsInitialized/").node("VarIsInitializedOp").input(handle).add();
    Scope on = placed.withoutColocation().withDevice((String) null).withDevice(device);
    Node assign = on.withName("Assign").node("AssignVariableOp").input(handle).input(value).add();
    Output read =
        (follows ? placed : on)
            .reopened(name + "/Read/")
            .node("ReadVariableOp")
            .input(handle)
            .attr("dtype", dtype)
            .add()
            .output();
    read.refineShape(shape);
    return new GraphVariable(handle, read, value, assign, dtype, shape, trainable, part);
  }
}
