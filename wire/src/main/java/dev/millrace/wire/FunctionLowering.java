package dev.millrace.wire;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.name.DeviceSpec;
import dev.millrace.proto.AttrValue;
import dev.millrace.proto.DataType;
import dev.millrace.proto.FunctionDef;
import dev.millrace.proto.GraphDef;
import dev.millrace.proto.NodeDef;
import dev.millrace.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Turns a GraphDef whose nodes call functions into one whose nodes do not, as TensorFlow's own
 * lowering does: calls are replaced by the body, If and Case by Switch and Merge, While by a loop
 * of Enter, Merge, Switch, NextIteration and Exit.
 *
 * <p>A node of the name of the caller stays, so that it can be waited for and be colocated with: it
 * waits for the results and for the effects of the body. A consumer reads a result from the node
 * that makes it. Functions with effects run all of them whichever result is asked for; the effects
 * of one round of a loop come before the next round.
 *
 * <p>What is in a branch or in a round of a loop must run only there. Each body therefore has a
 * context, a node that runs there and nowhere else, and every node of the body either reads
 * something inside the context or waits for the context itself. That holds for each input of a
 * caller by itself, as what the caller stands for may read it alone.
 */
final class FunctionLowering {
  /**
   * Limit on the number of nodes. Nested functions grow exponentially; more nodes are a mistake or
   * an attack.
   */
  private static final int MAX_NODES = 1 << 18;

  private static final int MAX_DEPTH = 64;

  private final OpRegistry registry;
  private final Map<String, FunctionDef> functions;
  private final List<NodeDef> out = new ArrayList<>();

  /** The edges that replace the outputs of a lowered caller. */
  private final Map<String, List<String>> outputs = new HashMap<>();

  /** Which of these edges are inside the caller's context. */
  private final Map<String, boolean[]> outputsInside = new HashMap<>();

  /** The string constants, by name: the target of a remote call may be one. */
  private final Map<String, NodeDef> constants = new HashMap<>();

  private int depth;

  private FunctionLowering(OpRegistry registry, Map<String, FunctionDef> functions) {
    this.registry = registry;
    this.functions = functions;
  }

  /**
   * A graph without calls.
   *
   * @param outputs by the name of a caller that was in the graph, where its outputs are made now
   */
  record Lowered(List<NodeDef> nodes, Map<String, List<String>> outputs) {}

  /** The nodes of {@code def} without calls of {@code functions}. */
  static Lowered lower(GraphDef def, OpRegistry registry, Map<String, FunctionDef> functions) {
    FunctionLowering l = new FunctionLowering(registry, functions);
    if (def.getNodeList().stream().noneMatch(l::isCall)) {
      return new Lowered(def.getNodeList(), Map.of());
    }
    Map<String, List<String>> callers = new HashMap<>();
    def.getNodeList().forEach(l::noteConstant);
    for (NodeDef n : def.getNodeList()) {
      l.emit(n, new boolean[data(n).size()], null);
      if (l.outputs.containsKey(n.getName())) {
        callers.put(n.getName(), l.outputs.get(n.getName()));
      }
    }
    List<NodeDef> nodes = l.out.stream().map(l::resolved).toList();
    callers.replaceAll((name, made) -> made.stream().map(l::resolve).toList());
    return new Lowered(nodes, callers);
  }

  private void noteConstant(NodeDef n) {
    if (n.getOp().equals("Const")
        && n.getAttrMap().containsKey("dtype")
        && n.getAttrOrThrow("dtype").getType() == DataType.DT_STRING) {
      constants.put(n.getName(), n);
    }
  }

  private boolean isCall(NodeDef n) {
    return switch (n.getOp()) {
      case "PartitionedCall", "StatefulPartitionedCall", "RemoteCall", "SymbolicGradient" -> true;
      case "If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile" -> true;
      default -> registry.find(n.getOp()) == null && functions.containsKey(n.getOp());
    };
  }

  /** A call, which of its data inputs are inside the context, and the context; null for none. */
  private record Site(NodeDef caller, boolean[] inside, @Nullable String context) {
    /** The additional control inputs of a node that reads input {@code i} of the call. */
    List<String> waits(int i) {
      List<String> controls = new ArrayList<>(controls(caller));
      if (context != null && !inside[i]) {
        controls.add("^" + context);
      }
      return controls;
    }
  }

  /**
   * Adds a node, or the nodes that replace it. Returns whether they have effects.
   *
   * @param inside which of its data inputs are inside {@code context}
   */
  private boolean emit(NodeDef n, boolean[] inside, @Nullable String context) {
    if (out.size() > MAX_NODES || depth > MAX_DEPTH) {
      throw new MillraceException(
          Code.INVALID_ARGUMENT,
          "The functions called by '%s' do not come to an end: %d nodes, %d levels deep."
              .formatted(n.getName(), out.size(), depth));
    }
    if (!isCall(n)) {
      noteConstant(n);
      out.add(n);
      return FunctionBody.hasEffect(registry.find(n.getOp()));
    }
    Site site = new Site(n, inside, context);
    depth++;
    try {
      return switch (n.getOp()) {
        case "If", "StatelessIf" -> lowerIf(site);
        case "Case", "StatelessCase" -> lowerCase(site);
        case "While", "StatelessWhile" -> lowerWhile(site);
        case "RemoteCall" -> lowerRemoteCall(site);
        case "SymbolicGradient" -> lowerGradient(site);
        default -> lowerCall(site);
      };
    } finally {
      depth--;
    }
  }

  // ---- the caller's side ----

  private static List<String> data(NodeDef n) {
    return n.getInputList().stream().filter(i -> !i.startsWith("^")).toList();
  }

  private static List<String> controls(NodeDef n) {
    return n.getInputList().stream().filter(i -> i.startsWith("^")).toList();
  }

  private FunctionDef function(NodeDef caller, String name) {
    FunctionDef f = functions.get(name);
    if (f == null) {
      throw new MillraceException(
          Code.NOT_FOUND,
          "Node '%s' (%s) calls function '%s', which is not in the graph's library."
              .formatted(caller.getName(), caller.getOp(), name));
    }
    return f;
  }

  private static AttrValue attr(NodeDef n, String name) {
    AttrValue v = n.getAttrMap().get(name);
    if (v == null) {
      throw MillraceException.invalid(
          "%s '%s': attribute '%s' is missing and has no default.", n.getOp(), n.getName(), name);
    }
    return v;
  }

  private static List<DataType> types(NodeDef n, String name) {
    return known(n, attr(n, name).getList().getTypeList());
  }

  private static List<DataType> known(NodeDef n, List<DataType> types) {
    if (types.contains(DataType.UNRECOGNIZED)) {
      throw MillraceException.invalid(
          "%s '%s' has an argument or result of a type that is not known here.",
          n.getOp(), n.getName());
    }
    return types;
  }

  private static void checkCount(NodeDef n, String what, int found, int needed) {
    if (found != needed) {
      throw MillraceException.invalid(
          "%s '%s' has %d %s where its function has %d.",
          n.getOp(), n.getName(), found, what, needed);
    }
  }

  /**
   * A body in the graph: the edges of its results, which of them are inside the context, and the
   * nodes to wait for until its effects have happened.
   */
  private record Instance(List<String> results, boolean[] inside, List<String> effects) {}

  /**
   * The place of a body that replaces a call; {@code inside} marks the arguments that are inside
   * the context.
   */
  private record Placing(
      String prefix,
      String device,
      List<String> arguments,
      boolean[] inside,
      @Nullable String context) {}

  /** Adds the nodes of a body. */
  private Instance instantiate(
      NodeDef caller, String name, Map<String, AttrValue> attrs, Placing p) {
    FunctionBody body = new FunctionBody(function(caller, name), attrs, registry, functions);
    checkCount(caller, "inputs", p.arguments.size(), body.arguments().size());
    Map<String, String> arguments = new HashMap<>();
    Map<String, Boolean> inside = new HashMap<>();
    for (int i = 0; i < p.arguments.size(); i++) {
      arguments.put(body.arguments().get(i), p.arguments.get(i));
      inside.put(body.arguments().get(i), p.inside[i] || p.context == null);
    }
    List<String> effects = new ArrayList<>();
    for (NodeDef n : body.nodes()) {
      NodeDef.Builder b = n.toBuilder().setName(p.prefix + n.getName()).clearInput();
      boolean[] within = new boolean[data(n).size()];
      boolean waits = p.context == null;
      for (int i = 0; i < n.getInputCount(); i++) {
        String in = n.getInput(i);
        String at = body.flat(in, p.prefix, arguments);
        b.addInput(at);
        if (!in.startsWith("^")) {
          within[i] = isInside(in, at, inside);
          waits |= within[i];
        } else {
          // Waiting for an argument does not show which branch it came from.
          waits |= !arguments.containsKey(in.substring(1));
        }
      }
      if (!waits && !isCall(n)) {
        b.addInput("^" + p.context);
      }
      b.setDevice(merged(n.getDevice(), p.device));
      body.fixColocation(b, p.prefix);
      if (emit(b.build(), within, p.context)) {
        effects.add(n.getName());
      }
    }
    body.controlResults().forEach(n -> addOnce(effects, n));
    List<String> after = new BodyEffects(body, p.prefix, p.device, arguments, out).of(effects);
    List<String> results = new ArrayList<>();
    boolean[] resultsInside = new boolean[body.results().size()];
    for (int i = 0; i < body.results().size(); i++) {
      String in = body.results().get(i);
      String result = body.flat(in, p.prefix, arguments);
      resultsInside[i] = isInside(in, result, inside);
      boolean waits = resultsInside[i];
      if ((!after.isEmpty() || !waits) && body.resultType(i) != DataType.DT_RESOURCE) {
        NodeDef.Builder b =
            node(p.prefix + "_result_" + i, "Identity", p.device, body.resultType(i), result);
        after.forEach(e -> b.addInput("^" + e));
        if (!waits) {
          b.addInput("^" + p.context);
        }
        result = add(b);
        resultsInside[i] = true;
      }
      results.add(result);
    }
    return new Instance(results, resultsInside, after);
  }

  /**
   * Whether a value of a body is inside its context. Nodes are, but they may forward values that
   * are not.
   */
  private boolean isInside(String edge, String flat, Map<String, Boolean> arguments) {
    Boolean argument = arguments.get(edge);
    if (argument != null) {
      return argument;
    }
    boolean[] handedOn = outputsInside.get(nodeOf(flat));
    int index = indexOf(flat);
    return handedOn == null || index < 0 || index >= handedOn.length || handedOn[index];
  }

  private static void addOnce(List<String> list, String s) {
    if (!list.contains(s)) {
      list.add(s);
    }
  }

  /** Merges the device of a node in a body with that of the caller. */
  private static String merged(String inner, String outer) {
    return inner.isEmpty()
        ? outer
        : outer.isEmpty()
            ? inner
            : DeviceSpec.parse(inner).over(DeviceSpec.parse(outer)).toString();
  }

  private static NodeDef.Builder node(
      String name, String op, String device, DataType type, @Nullable String... inputs) {
    return NodeDef.newBuilder()
        .setName(name)
        .setOp(op)
        .setDevice(device)
        .addAllInput(List.of(inputs))
        .putAttr("T", AttrValue.newBuilder().setType(type).build());
  }

  private String add(NodeDef.Builder b) {
    out.add(b.build());
    return b.getName();
  }

  private static AttrValue number(long v) {
    return AttrValue.newBuilder().setI(v).build();
  }

  /** Adds the node that keeps the caller's name. */
  private void leave(
      Site site, List<DataType> types, List<String> results, boolean[] inside, List<String> after) {
    NodeDef caller = site.caller;
    List<String> made = new ArrayList<>(results);
    for (int i = 0; depth == 1 && i < made.size(); i++) {
      // A client that feeds a result replaces the output of the call, not its argument.
      if (data(caller).contains(made.get(i)) && types.get(i) != DataType.DT_RESOURCE) {
        String name = caller.getName() + "/_output_" + i;
        made.set(i, add(node(name, "Identity", caller.getDevice(), types.get(i), made.get(i))));
      }
    }
    outputs.put(caller.getName(), made);
    outputsInside.put(caller.getName(), inside);
    NodeDef.Builder b =
        NodeDef.newBuilder().setName(caller.getName()).setOp("NoOp").setDevice(caller.getDevice());
    made.forEach(r -> b.addInput("^" + r));
    after.forEach(a -> b.addInput("^" + a));
    controls(caller).forEach(b::addInput);
    if (site.context != null) {
      b.addInput("^" + site.context);
    }
    out.add(b.build());
  }

  /**
   * The context of the lowered call: that of the caller or, if the caller has control inputs, a
   * node that runs after all of them.
   */
  private @Nullable String context(Site site) {
    List<String> controls = controls(site.caller);
    if (controls.isEmpty() || (controls.size() == 1 && site.context == null)) {
      return controls.isEmpty() ? site.context : controls.getFirst().substring(1);
    }
    NodeDef.Builder b =
        NodeDef.newBuilder()
            .setName(site.caller.getName() + "/_after")
            .setOp("NoOp")
            .setDevice(site.caller.getDevice())
            .addAllInput(controls);
    if (site.context != null) {
      b.addInput("^" + site.context);
    }
    return add(b);
  }

  // ---- calls ----

  private boolean lowerCall(Site site) {
    NodeDef n = site.caller;
    boolean direct = functions.containsKey(n.getOp()) && registry.find(n.getOp()) == null;
    String name = direct ? n.getOp() : attr(n, "f").getFunc().getName();
    Map<String, AttrValue> attrs = direct ? n.getAttrMap() : attr(n, "f").getFunc().getAttrMap();
    List<String> inputs = data(n);
    boolean[] inside = controls(n).isEmpty() ? site.inside : new boolean[inputs.size()];
    Instance body =
        instantiate(
            n,
            name,
            attrs,
            new Placing(n.getName() + "/_body/", n.getDevice(), inputs, inside, context(site)));
    FunctionBody signature = new FunctionBody(function(n, name), attrs, registry, functions);
    List<DataType> types =
        IntStream.range(0, body.results.size()).mapToObj(signature::resultType).toList();
    leave(site, known(n, types), body.results, body.inside, body.effects);
    return !body.effects.isEmpty();
  }

  /** A call on another device, whose name must be a constant: nodes are placed before they run. */
  private boolean lowerRemoteCall(Site site) {
    NodeDef n = site.caller;
    List<String> inputs = data(n);
    if (inputs.isEmpty()) {
      throw MillraceException.invalid("RemoteCall '%s' has no target.", n.getName());
    }
    NodeDef target = constants.get(nodeOf(resolve(inputs.getFirst())));
    if (target == null) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          "RemoteCall '%s': its target '%s' is not a constant. Name the device by tf.constant."
              .formatted(n.getName(), inputs.getFirst()));
    }
    String device;
    try (Tensor t = TensorCodec.decode(target.getAttrOrThrow("value").getTensor())) {
      device = DeviceSpec.parse(t.stringAt(0)).toString();
    }
    NodeDef.Builder call =
        n.toBuilder()
            .setOp("StatefulPartitionedCall")
            .setDevice(merged(device, n.getDevice()))
            .clearInput()
            .addAllInput(inputs.subList(1, inputs.size()))
            .addAllInput(controls(n));
    boolean[] inside = Arrays.copyOfRange(site.inside, 1, site.inside.length);
    return lowerCall(new Site(call.build(), inside, site.context));
  }

  /** The gradient of a function, computed beside the caller. */
  private boolean lowerGradient(Site site) {
    NodeDef n = site.caller;
    List<String> controls = new ArrayList<>(controls(n));
    if (site.context != null) {
      controls.add("^" + site.context);
    }
    FunctionGradient gradient =
        new FunctionGradient(
            n, registry, functions, n.getName() + "/_gradient/", data(n), controls);
    out.addAll(gradient.nodes());
    boolean[] inside = new boolean[gradient.results().size()];
    Arrays.fill(inside, true);
    leave(site, types(n, "Tout"), gradient.results(), inside, List.of());
    return false;
  }

  // ---- branches ----

  /** One branch: the function to call if {@code predicate} selects this side of a Switch. */
  private record Branch(String name, AttrValue function, String predicate, int side) {}

  private boolean lowerIf(Site site) {
    NodeDef n = site.caller;
    if (attr(n, "Tcond").getType() != DataType.DT_BOOL) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          "%s '%s': its condition is %s; only a bool scalar is supported."
              .formatted(n.getOp(), n.getName(), attr(n, "Tcond").getType()));
    }
    String predicate = first(site, DataType.DT_BOOL);
    return lowerBranches(
        site,
        List.of(
            new Branch("else", attr(n, "else_branch"), predicate, 0),
            new Branch("then", attr(n, "then_branch"), predicate, 1)));
  }

  /** An index out of range selects the last branch. */
  private boolean lowerCase(Site site) {
    NodeDef n = site.caller;
    String index = first(site, DataType.DT_INT32);
    List<dev.millrace.proto.NameAttrList> functions = attr(n, "branches").getList().getFuncList();
    List<Branch> branches = new ArrayList<>();
    int last = functions.size() - 1;
    for (int i = 0; i <= last; i++) {
      String at = n.getName() + "/_is_" + i;
      String predicate =
          i < last
              ? compare(n, at, "Equal", index, i)
              : add(
                  NodeDef.newBuilder()
                      .setName(at)
                      .setOp("LogicalOr")
                      .setDevice(n.getDevice())
                      .addInput(compare(n, at + "_below", "Less", index, 0))
                      .addInput(compare(n, at + "_above", "GreaterEqual", index, last)));
      AttrValue function = AttrValue.newBuilder().setFunc(functions.get(i)).build();
      branches.add(new Branch("branch" + i, function, predicate, 1));
    }
    return lowerBranches(site, branches);
  }

  private String compare(NodeDef n, String name, String op, String index, int with) {
    NodeDef.Builder value =
        NodeDef.newBuilder().setName(name + "_value").setOp("Const").setDevice(n.getDevice());
    value.putAttr("dtype", AttrValue.newBuilder().setType(DataType.DT_INT32).build());
    value.putAttr(
        "value",
        AttrValue.newBuilder()
            .setTensor(TensorCodec.encodeConstant(dev.millrace.tensor.Tensor.scalar(with)))
            .build());
    return add(node(name, op, n.getDevice(), DataType.DT_INT32, index, add(value)));
  }

  /** Input 0, delayed until the caller may run. */
  private String first(Site site, DataType type) {
    NodeDef n = site.caller;
    if (data(n).isEmpty()) {
      throw MillraceException.invalid("%s '%s' has no inputs.", n.getOp(), n.getName());
    }
    List<String> waits = site.waits(0);
    if (waits.isEmpty()) {
      return data(n).getFirst();
    }
    NodeDef.Builder b =
        node(n.getName() + "/_pred", "Identity", n.getDevice(), type, data(n).getFirst());
    waits.forEach(b::addInput);
    return add(b);
  }

  private boolean lowerBranches(Site site, List<Branch> branches) {
    NodeDef n = site.caller;
    String prefix = n.getName() + "/_";
    List<DataType> in = types(n, "Tin");
    List<DataType> results = types(n, "Tout");
    List<String> inputs = data(n).subList(1, data(n).size());
    checkCount(n, "inputs", inputs.size(), in.size());
    Map<String, String> switches = new HashMap<>();
    List<Instance> instances = new ArrayList<>();
    List<String> done = new ArrayList<>();
    for (Branch b : branches) {
      String pivot = null;
      List<String> arguments = new ArrayList<>();
      for (int i = -1; i < inputs.size(); i++) {
        String value = i < 0 ? b.predicate : inputs.get(i);
        DataType type = i < 0 ? DataType.DT_BOOL : in.get(i);
        String key = i + " " + b.predicate;
        if (!switches.containsKey(key)) {
          String name = prefix + "switch_" + switches.size();
          switches.put(key, add(node(name, "Switch", n.getDevice(), type, value, b.predicate)));
        }
        String side = switches.get(key) + ":" + b.side;
        if (i < 0) {
          pivot = add(node(prefix + b.name + "_pivot", "Identity", n.getDevice(), type, side));
        } else {
          arguments.add(side);
        }
      }
      Instance body =
          instantiate(
              n,
              b.function.getFunc().getName(),
              b.function.getFunc().getAttrMap(),
              new Placing(
                  prefix + b.name + "/", n.getDevice(), arguments, all(arguments.size()), pivot));
      checkCount(n, "outputs", results.size(), body.results.size());
      instances.add(body);
      NodeDef.Builder ran =
          node(prefix + b.name + "_done", "Identity", n.getDevice(), DataType.DT_BOOL, pivot);
      body.effects.forEach(e -> ran.addInput("^" + e));
      done.add(add(ran));
    }
    List<String> merges = new ArrayList<>();
    for (int i = 0; i < results.size(); i++) {
      int k = i;
      List<String> from = instances.stream().map(b -> b.results.get(k)).toList();
      merges.add(merge(prefix + "merge_" + i, n.getDevice(), results.get(i), from));
    }
    String end = merge(prefix + "done", n.getDevice(), DataType.DT_BOOL, done);
    leave(site, results, merges, all(merges.size()), List.of(end));
    return instances.stream().anyMatch(b -> !b.effects.isEmpty());
  }

  private static boolean[] all(int count) {
    boolean[] all = new boolean[count];
    Arrays.fill(all, true);
    return all;
  }

  private String merge(String name, String device, DataType type, List<String> from) {
    return add(
        node(name, "Merge", device, type, from.toArray(new String[0]))
            .putAttr("N", number(from.size())));
  }

  // ---- loops ----

  private boolean lowerWhile(Site site) {
    NodeDef n = site.caller;
    String prefix = n.getName() + "/_";
    String device = n.getDevice();
    List<DataType> types = types(n, "T");
    List<String> inputs = data(n);
    checkCount(n, "inputs", inputs.size(), types.size());
    AttrValue condition = attr(n, "cond");
    AttrValue body = attr(n, "body");
    FunctionBody shape =
        new FunctionBody(
            function(n, body.getFunc().getName()),
            body.getFunc().getAttrMap(),
            registry,
            functions);
    checkCount(n, "outputs", types.size(), shape.results().size());
    checkCount(n, "inputs", types.size(), shape.arguments().size());
    int count = types.size();
    boolean[] varies = new boolean[count];
    int first = -1;
    for (int i = count - 1; i >= 0; i--) {
      boolean same = shape.results().get(i).equals(shape.arguments().get(i));
      varies[i] = !same && types.get(i) != DataType.DT_RESOURCE;
      first = varies[i] ? i : first;
    }
    for (int i = 0; first < 0 && i < count; i++) {
      // A resource does not vary between iterations; only their effects do.
      varies[i] = types.get(i) != DataType.DT_RESOURCE;
      first = varies[i] ? i : first;
    }
    if (first < 0) {
      throw new MillraceException(
          Code.UNIMPLEMENTED,
          "%s '%s': all of its %d variables are resources; a loop needs another one."
              .formatted(n.getOp(), n.getName(), count));
    }
    List<String> values = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      NodeDef.Builder enter =
          node(prefix + "enter_" + i, "Enter", device, types.get(i), inputs.get(i))
              .putAttr("frame_name", string(n.getName()))
              .putAttr("is_constant", AttrValue.newBuilder().setB(!varies[i]).build())
              .putAttr(
                  "parallel_iterations",
                  n.getAttrMap().getOrDefault("parallel_iterations", number(10)));
      site.waits(i).forEach(enter::addInput);
      String in = add(enter);
      values.add(
          varies[i]
              ? merge(
                  prefix + "merge_" + i, device, types.get(i), List.of(in, prefix + "next_" + i))
              : in);
    }
    Instance test =
        instantiate(
            n,
            condition.getFunc().getName(),
            condition.getFunc().getAttrMap(),
            new Placing(prefix + "cond/", device, values, varies, values.get(first)));
    if (test.results.size() != 1) {
      throw MillraceException.invalid(
          "%s '%s': Expected a single scalar return value from cond function, got %d tensors.",
          n.getOp(), n.getName(), test.results.size());
    }
    String goOn =
        add(
            NodeDef.newBuilder()
                .setName(prefix + "cond")
                .setOp("LoopCond")
                .setDevice(device)
                .addInput(test.results.getFirst()));
    List<String> results = new ArrayList<>();
    List<String> inside = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      if (!varies[i]) {
        results.add(inputs.get(i));
        inside.add(values.get(i));
        continue;
      }
      String way =
          add(node(prefix + "switch_" + i, "Switch", device, types.get(i), values.get(i), goOn));
      results.add(add(node(prefix + "exit_" + i, "Exit", device, types.get(i), way)));
      inside.add(way + ":1");
    }
    String pivot =
        add(node(prefix + "pivot", "Identity", device, types.get(first), inside.get(first)));
    Instance round =
        instantiate(
            n,
            body.getFunc().getName(),
            body.getFunc().getAttrMap(),
            new Placing(prefix + "body/", device, inside, varies, pivot));
    for (int i = 0; i < count; i++) {
      if (varies[i]) {
        String next = round.results.get(i);
        add(node(prefix + "next_" + i, "NextIteration", device, types.get(i), next));
      }
    }
    boolean[] resultsInside = new boolean[count];
    for (int i = 0; i < count; i++) {
      resultsInside[i] = varies[i] || site.inside[i];
    }
    leave(site, types, results, resultsInside, List.of(prefix + "exit_" + first));
    return !test.effects.isEmpty() || !round.effects.isEmpty();
  }

  private static AttrValue string(String s) {
    return AttrValue.newBuilder().setS(com.google.protobuf.ByteString.copyFromUtf8(s)).build();
  }

  // ---- the end ----

  /** The node with each input replaced by the edge that computes it. */
  private NodeDef resolved(NodeDef n) {
    NodeDef.Builder b = n.toBuilder().clearInput();
    for (String in : n.getInputList()) {
      if (in.startsWith("^")) {
        String ref = in.substring(1);
        b.addInput("^" + (ref.contains(":") ? nodeOf(resolve(ref)) : ref));
      } else {
        b.addInput(resolve(in));
      }
    }
    return b.build();
  }

  private static String nodeOf(String ref) {
    int colon = ref.lastIndexOf(':');
    return colon < 0 ? ref : ref.substring(0, colon);
  }

  /** The index of an output; negative if it is not a number. */
  private static int indexOf(String ref) {
    int colon = ref.lastIndexOf(':');
    try {
      return colon < 0 ? 0 : Integer.parseInt(ref.substring(colon + 1));
    } catch (NumberFormatException e) {
      return -1;
    }
  }

  private String resolve(String ref) {
    String at = ref;
    for (int i = 0; i <= outputs.size(); i++) {
      List<String> made = outputs.get(nodeOf(at));
      if (made == null) {
        return at;
      }
      int index = indexOf(at);
      if (index < 0 || index >= made.size()) {
        throw MillraceException.invalid(
            "'%s' is asked for, but node '%s' has %d outputs.", at, nodeOf(at), made.size());
      }
      at = made.get(index);
    }
    throw MillraceException.invalid("'%s' is defined by nothing but itself.", ref);
  }
}
