package dev.millrace.graph;

import dev.millrace.base.MillraceException;
import dev.millrace.base.steps.Phase;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * The definition of an op: its signature, which equals TensorFlow's, its shape function, kernel and
 * gradient. Created by {@link #define}.
 *
 * <p>Threading: immutable.
 */
public final class Op {
  /** The most tensors that an argument or result may be made of. */
  private static final int MAX_COUNT = 1 << 16;

  /** How the executor treats a node, for the few ops that are not simply run on their inputs. */
  public enum Role {
    /** Runs once all inputs are there and alive. */
    ORDINARY,
    /** Runs on its first live data input; dead only if all are. */
    MERGE,
    /** Takes a value into a loop's frame. */
    ENTER,
    /** Takes a value out of a loop's frame. */
    EXIT,
    /** Takes a value to the next iteration of a loop. */
    NEXT_ITERATION,
    /** Marks the condition of a loop. */
    LOOP_COND,
    /** Chooses one of its outputs; an ORDINARY node but for placement and loops. */
    SWITCH,
    /** Runs even if inputs are dead. */
    CONTROL_TRIGGER,
    /** Hands a value to the rendezvous, a dead one too. */
    SEND,
    /** Takes a value from the rendezvous. */
    RECV,
    /** Takes a fed value of an in-process session. */
    ARG,
    /** Gives a fetched value to an in-process session. */
    RETVAL
  }

  /** An argument or result of the signature; exactly one of the type fields is set. */
  public record Arg(
      String name,
      DType type,
      String typeAttr,
      String numberAttr,
      String typeListAttr,
      boolean isRef) {
    /** How many tensors this argument stands for under these attributes. */
    public int count(Map<String, AttrValue> attrs) {
      if (numberAttr != null) {
        // A larger count fails later with the attribute's name, when the node is known.
        return attrs.get(numberAttr) instanceof AttrValue.Int i
            ? Math.clamp(i.value(), 0, MAX_COUNT)
            : 0;
      }
      if (typeListAttr != null) {
        return attrs.get(typeListAttr) instanceof AttrValue.Many m ? m.values().size() : 0;
      }
      return 1;
    }

    void addTypes(Map<String, AttrValue> attrs, List<TypedArg> to) {
      int n = count(attrs);
      for (int i = 0; i < n; i++) {
        DType t = type;
        if (typeListAttr != null) {
          t = ((AttrValue.Type) ((AttrValue.Many) attrs.get(typeListAttr)).values().get(i)).value();
        } else if (typeAttr != null) {
          t = ((AttrValue.Type) attrs.get(typeAttr)).value();
        }
        to.add(new TypedArg(name, t, isRef));
      }
    }

    @Override
    public String toString() {
      String t = type != null ? type.label() : typeAttr != null ? typeAttr : typeListAttr;
      t = numberAttr != null ? numberAttr + " * " + t : t;
      return name + ": " + (isRef ? "Ref(" + t + ")" : t);
    }
  }

  /** One tensor of an argument, with its element type. */
  public record TypedArg(String name, DType dtype, boolean isRef) {}

  /** How the shapes of the outputs follow from what is known of the inputs. */
  @FunctionalInterface
  public interface ShapeFunction {
    /** One shape per output. */
    List<Shape> infer(ShapeContext c);
  }

  private final String name;
  private final List<Arg> inputs;
  private final List<Arg> outputs;
  private final Map<String, AttrSpec> attrs;
  private final boolean stateful;
  private final boolean commutative;
  private final boolean allowsUninitialized;
  private final boolean runsOnAnyDevice;
  private final Role role;
  private final ShapeFunction shape;
  private final Function<Node, Kernel> kernel;
  private final Function<Node, AsyncKernel> asyncKernel;
  private final Phase waitsIn;
  private final Gradient gradient;
  private final String noGradient;

  private Op(Builder b) {
    this.name = b.name;
    this.attrs = Collections.unmodifiableMap(b.attrs);
    this.inputs = List.copyOf(b.inputs);
    this.outputs = List.copyOf(b.outputs);
    this.stateful = b.stateful;
    this.commutative = b.commutative;
    this.allowsUninitialized = b.allowsUninitialized;
    this.runsOnAnyDevice = b.runsOnAnyDevice;
    this.role = b.role;
    this.shape = b.shape;
    this.kernel = b.kernel;
    this.asyncKernel = b.asyncKernel;
    this.waitsIn = b.waitsIn;
    this.gradient = b.gradient;
    this.noGradient = b.noGradient;
  }

  /** Begins the definition of an op with TensorFlow's name for it. */
  public static Builder define(String name) {
    return new Builder(name);
  }

  /** TensorFlow's name of it. */
  public String name() {
    return name;
  }

  /** The arguments in order. */
  public List<Arg> inputs() {
    return inputs;
  }

  /** The results in order. */
  public List<Arg> outputs() {
    return outputs;
  }

  /** Its attributes by name. */
  public Map<String, AttrSpec> attrs() {
    return attrs;
  }

  /** Whether it has effects or state. Such an op is never folded, shared or skipped. */
  public boolean isStateful() {
    return stateful;
  }

  /** Whether its two inputs may be exchanged. */
  public boolean isCommutative() {
    return commutative;
  }

  /** Whether it may be given a reference to a variable that has no value yet. */
  public boolean allowsUninitialized() {
    return allowsUninitialized;
  }

  /** Whether its kernel serves every kind of device, as it reads and writes no elements. */
  public boolean runsOnAnyDevice() {
    return runsOnAnyDevice;
  }

  /** What it means to placement and execution. */
  public Role role() {
    return role;
  }

  /** Whether its kernel is asynchronous: it may wait without blocking a thread. */
  public boolean isAsync() {
    return asyncKernel != null;
  }

  /** What a step does while it waits for such a kernel; only where {@link #isAsync}. */
  public Phase waitsIn() {
    return waitsIn;
  }

  /** A kernel for {@code node}, made once per node and used by every step. */
  public Kernel kernelFor(Node node) {
    if (kernel == null) {
      throw new IllegalStateException(name + " has no synchronous kernel");
    }
    return kernel.apply(node);
  }

  /** A kernel for {@code node} that completes later; only where {@link #isAsync}. */
  public AsyncKernel asyncKernelFor(Node node) {
    return asyncKernel.apply(node);
  }

  /** The gradient, or null where there is none; {@link #noGradientReason} then says why. */
  public Gradient gradient() {
    return gradient;
  }

  /** Why no gradient flows through this op; null where one does. */
  public String noGradientReason() {
    return noGradient;
  }

  /** The shapes of the outputs, as far as they follow from the inputs. */
  public List<Shape> shapes(ShapeContext c) {
    return shape.infer(c);
  }

  /** The flattened input types under these attributes. */
  public List<TypedArg> inputTypes(Map<String, AttrValue> attrs) {
    return types(inputs, attrs);
  }

  /** The flattened output types under these attributes. */
  public List<TypedArg> outputTypes(Map<String, AttrValue> attrs) {
    return types(outputs, attrs);
  }

  private static List<TypedArg> types(List<Arg> args, Map<String, AttrValue> attrs) {
    List<TypedArg> list = new ArrayList<>();
    for (Arg a : args) {
      a.addTypes(attrs, list);
    }
    return list;
  }

  /** Checks the attributes given for node {@code node} and fills in the defaults. */
  public Map<String, AttrValue> complete(String node, Map<String, AttrValue> given) {
    Map<String, AttrValue> all = new LinkedHashMap<>(given);
    for (AttrSpec spec : attrs.values()) {
      AttrValue v = all.get(spec.name());
      if (v == null) {
        if (spec.defaultValue() == null) {
          throw MillraceException.invalid(
              "%s '%s': attribute '%s' (%s) is missing and has no default.",
              name, node, spec.name(), spec.kind());
        }
        all.put(spec.name(), spec.defaultValue());
      } else {
        String complaint = spec.complaint(v);
        if (complaint != null) {
          throw MillraceException.invalid(
              "%s '%s': attribute '%s' %s.", name, node, spec.name(), complaint);
        }
      }
    }
    inputs.forEach(arg -> checkCount(node, arg, all));
    outputs.forEach(arg -> checkCount(node, arg, all));
    return all;
  }

  /** Limits the number of tensors, so that a damaged graph cannot request millions of edges. */
  private void checkCount(String node, Arg arg, Map<String, AttrValue> attrs) {
    if (arg.numberAttr() != null
        && attrs.get(arg.numberAttr()) instanceof AttrValue.Int n
        && (n.value() < 0 || n.value() > MAX_COUNT)) {
      throw MillraceException.invalid(
          "%s '%s': attribute '%s' is %d; '%s' may have 0 to %d tensors.",
          name, node, arg.numberAttr(), n.value(), arg.name(), MAX_COUNT);
    }
  }

  /** Checks number and types of the inputs of node {@code node}; null inputs are skipped. */
  public void checkInputs(String node, Map<String, AttrValue> attrs, List<Output> given) {
    List<TypedArg> wanted = inputTypes(attrs);
    if (wanted.size() != given.size()) {
      throw MillraceException.invalid(
          "%s '%s' takes %d inputs (%s) but has %d.",
          name, node, wanted.size(), inputs, given.size());
    }
    for (int i = 0; i < wanted.size(); i++) {
      Output in = given.get(i);
      if (in == null) {
        continue;
      }
      TypedArg w = wanted.get(i);
      if (in.dtype() != w.dtype()) {
        throw MillraceException.invalid(
            "%s '%s': input %d ('%s') must be %s, but '%s' is %s. Insert a Cast or change the"
                + " other input.",
            name, node, i, w.name(), w.dtype(), in.name(), in.dtype());
      }
      if (w.isRef() && !in.isRef()) {
        throw MillraceException.invalid(
            "%s '%s': input %d ('%s') must be a reference to a variable; '%s' is a value.",
            name, node, i, w.name(), in.name());
      }
    }
  }

  @Override
  public String toString() {
    return name + inputs + " -> " + outputs;
  }

  /** Collects the definition of an op. Attributes come before the arguments that use them. */
  public static final class Builder {
    private final String name;
    private final Map<String, AttrSpec> attrs = new LinkedHashMap<>();
    private final List<Arg> inputs = new ArrayList<>();
    private final List<Arg> outputs = new ArrayList<>();
    private boolean stateful;
    private boolean commutative;
    private boolean allowsUninitialized;
    private boolean runsOnAnyDevice;
    private Role role = Role.ORDINARY;
    private ShapeFunction shape;
    private Function<Node, Kernel> kernel;
    private Function<Node, AsyncKernel> asyncKernel;
    private Phase waitsIn = Phase.WAIT;
    private Gradient gradient;
    private String noGradient;

    private Builder(String name) {
      this.name = name;
    }

    /** An attribute, such as {@code "T: {float, double}"} or {@code "axis: int = 0"}. */
    public Builder attr(String notation) {
      AttrSpec spec = OpNotation.attr(notation);
      attrs.put(spec.name(), spec);
      return this;
    }

    /** An argument, such as {@code "x: T"}, {@code "ref: Ref(T)"}, {@code "values: N * T"}. */
    public Builder input(String notation) {
      inputs.add(OpNotation.arg(notation, attrs));
      return this;
    }

    /** A result, in the notation of arguments. */
    public Builder output(String notation) {
      outputs.add(OpNotation.arg(notation, attrs));
      return this;
    }

    /** Marks the op as having effects: it is neither folded nor shared. */
    public Builder stateful() {
      stateful = true;
      return this;
    }

    /** Its two inputs may be exchanged. */
    public Builder commutative() {
      commutative = true;
      return this;
    }

    /** It takes variables that have no value yet. */
    public Builder allowsUninitialized() {
      allowsUninitialized = true;
      return this;
    }

    /**
     * Its kernel serves every kind of device: it passes tensors on without reading or writing their
     * elements. All other kernels are for the host; a device brings its own.
     */
    public Builder runsOnAnyDevice() {
      runsOnAnyDevice = true;
      return this;
    }

    /** What it means to placement and execution. */
    public Builder role(Role r) {
      role = r;
      return this;
    }

    /** How the shapes of its outputs follow from its inputs. */
    public Builder shape(ShapeFunction f) {
      shape = f;
      return this;
    }

    /** One kernel for all nodes. */
    public Builder kernel(Kernel k) {
      kernel = node -> k;
      return this;
    }

    /** A kernel per node, for those that read attributes: once, not on every step. */
    public Builder kernelPerNode(Function<Node, Kernel> factory) {
      kernel = factory;
      return this;
    }

    /** A kernel that waits for something and therefore completes later. */
    public Builder asyncKernel(Function<Node, AsyncKernel> factory) {
      asyncKernel = factory;
      return this;
    }

    /** What a step does while it waits for the kernel, unless that is to wait for others. */
    public Builder waitsIn(Phase phase) {
      waitsIn = phase;
      return this;
    }

    /** How the gradients of its inputs follow from those of its outputs. */
    public Builder gradient(Gradient g) {
      gradient = g;
      return this;
    }

    /** Declares that no gradient flows through this op, with the reason. */
    public Builder noGradient(String why) {
      noGradient = why;
      return this;
    }

    /** Builds the op. Fails if the shape function, the kernel or the gradient is missing. */
    public Op build() {
      if (shape == null) {
        throw new IllegalStateException(name + ": no shape function");
      }
      if (kernel == null && asyncKernel == null) {
        throw new IllegalStateException(name + ": no kernel");
      }
      if ((gradient == null) == (noGradient == null)) {
        throw new IllegalStateException(name + ": say either gradient(...) or noGradient(why)");
      }
      return new Op(this);
    }
  }
}
