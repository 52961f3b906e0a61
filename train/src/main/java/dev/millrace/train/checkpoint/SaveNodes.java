package dev.millrace.train.checkpoint;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.name.DeviceSpec;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Pack;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.io.Checkpoints;
import dev.millrace.ops.io.ShardedNames;
import dev.millrace.ops.io.StringJoin;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.graph.GroupNodes;
import dev.millrace.train.variable.GraphVariable;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;

/**
 * The nodes that save and restore, named as TensorFlow's: fed with a prefix, {@code saved} gives it
 * back once the checkpoint is complete and {@code restore} has run once every variable has its
 * value. Each of {@code restores} does so for one entry.
 */
record SaveNodes(Output prefix, Output saved, Node restore, Map<Entry, Node> restores) {
  /** A variable and the name of the tensor it is saved in. */
  record Entry(String name, GraphVariable variable) {}

  /** Adds the nodes under {@code save}. */
  static SaveNodes add(Scope outer, List<Entry> entries, boolean sharded) {
    Scope scope = outer.withSubScope("save");
    Output model = Const.of(scope.withName("filename/input"), "model");
    Output named = Placeholder.withDefault(scope.withName("filename"), model, Shape.scalar());
    Output prefix = Placeholder.withDefault(scope.withName("Const"), named, Shape.scalar());
    List<List<Entry>> shards = sharded ? List.copyOf(byDevice(entries).values()) : List.of(entries);
    Output saved = sharded ? saveSharded(scope, prefix, shards) : saveWhole(scope, prefix, entries);
    SequencedMap<Entry, Node> assigns = new LinkedHashMap<>();
    for (List<Entry> shard : byDevice(entries).values()) {
      restore(scope, prefix, shard, assigns);
    }
    Node all = GroupNodes.of(scope, "restore_all", List.copyOf(assigns.values()));
    return new SaveNodes(prefix, saved, all, assigns);
  }

  /** The variables of each device, the devices in order. */
  private static SortedMap<String, List<Entry>> byDevice(List<Entry> entries) {
    SortedMap<String, List<Entry>> groups = new TreeMap<>();
    for (Entry e : entries) {
      groups.computeIfAbsent(e.variable.node().device(), d -> new ArrayList<>()).add(e);
    }
    return groups;
  }

  private static Output saveWhole(Scope scope, Output prefix, List<Entry> entries) {
    Node save = save(scope, prefix, entries);
    return Identity.of(
        scope.withName("control_dependency").withControlInputs(save).colocatedWith(save), prefix);
  }

  private static Output saveSharded(Scope scope, Output prefix, List<List<Entry>> shards) {
    Output suffix =
        Const.of(
            scope.withName("StringJoin/inputs_1"),
            "_temp_" + UUID.randomUUID().toString().replace("-", "") + "/part");
    Output base = StringJoin.of(scope, List.of(prefix, suffix));
    Output count = Const.of(scope.withName("num_shards"), shards.size());
    List<Output> files = new ArrayList<>();
    Scope last = scope;
    for (int i = 0; i < shards.size(); i++) {
      Scope at = hostOf(scope, shards.get(i));
      Output shard = Const.of(at.withName("ShardedFilename/shard"), i);
      Output file = ShardedNames.of(at.withName("ShardedFilename"), base, shard, count);
      Node save = save(at, file, shards.get(i));
      files.add(Identity.of(at.withName("control_dependency").withControlInputs(save), file));
      last = at;
    }
    List<Node> written = files.stream().map(Output::node).toList();
    Output all =
        Pack.of(
            last.withName("MergeV2Checkpoints/checkpoint_prefixes").withControlInputs(written),
            files);
    Node merge = Checkpoints.merge(last, all, prefix);
    return Identity.of(
        last.withName("Identity").withControlInputs(merge).withControlInputs(written), prefix);
  }

  private static Node save(Scope scope, Output prefix, List<Entry> entries) {
    List<Output> values =
        entries.stream()
            .map(e -> e.variable)
            .map(v -> v.isResource() || v.part() != null ? v.read() : v.handle())
            .toList();
    return Checkpoints.save(
        scope, prefix, names(scope, "SaveV2", entries), slices(scope, "SaveV2", entries), values);
  }

  private static void restore(
      Scope scope, Output prefix, List<Entry> entries, Map<Entry, Node> done) {
    Scope at = hostOf(scope, entries);
    Node read =
        Checkpoints.restore(
            at,
            prefix,
            names(at, "RestoreV2", entries),
            slices(at, "RestoreV2", entries),
            entries.stream().map(e -> e.variable.dtype()).toList());
    for (int i = 0; i < entries.size(); i++) {
      GraphVariable v = entries.get(i).variable;
      Output value = read.output(i);
      value.refineShape(v.shape());
      done.put(entries.get(i), v.assign(scope.colocatedWith(v.node()), value));
    }
  }

  private static Output names(Scope scope, String op, List<Entry> entries) {
    return strings(scope, op + "/tensor_names", entries.stream().map(Entry::name).toList());
  }

  private static Output slices(Scope scope, String op, List<Entry> entries) {
    return strings(
        scope,
        op + "/shape_and_slices",
        entries.stream().map(e -> e.variable.savedSlice()).toList());
  }

  private static Output strings(Scope scope, String name, List<String> values) {
    return Const.of(scope.withName(name), Tensor.vector(values.toArray(String[]::new)));
  }

  /** The processor of the task that holds these variables: files are its business. */
  private static Scope hostOf(Scope scope, List<Entry> entries) {
    DeviceSpec device = DeviceSpec.parse(entries.getFirst().variable.node().device());
    if (device.job() == null) {
      return scope;
    }
    return scope.withDevice(
        new DeviceSpec(device.job(), device.replica(), device.task(), "CPU", 0).toString());
  }
}
