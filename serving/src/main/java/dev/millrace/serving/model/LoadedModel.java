package dev.millrace.serving.model;

import dev.millrace.base.Closest;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Graph;
import dev.millrace.graph.OpRegistry;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Identity;
import dev.millrace.proto.SignatureDef;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A SavedModel in a session: its variables are restored, its tables filled, and each signature is a
 * prepared call.
 *
 * <p>Threading: any number of calls at once, from any threads.
 */
public final class LoadedModel implements AutoCloseable {
  private final Path folder;
  private final Map<String, ModelSignature> signatures;
  private final Map<String, SignatureDef> definitions;
  private final Map<String, Session.Callable> calls = new HashMap<>();
  private final Session session;

  private LoadedModel(SavedModelFolder files, OpRegistry registry) {
    folder = files.folder();
    signatures = files.signatures();
    definitions = files.meta().getSignatureDefMap();
    if (signatures.isEmpty()) {
      throw new MillraceException(
          Code.INVALID_ARGUMENT,
          "The SavedModel in "
              + folder
              + " has no signature that can be called. Export it with one (in Python: the argument"
              + " signatures of tf.saved_model.save, or model.export of Keras).");
    }
    Graph graph =
        ServingGraph.of(
            files.meta().getGraphDef(), roots(files), registry, "The SavedModel in " + folder);
    Map<String, List<Output>> fetches = new HashMap<>();
    signatures.forEach((name, s) -> fetches.put(name, fetches(graph, s)));
    session = new LocalSession(graph);
    try {
      restore(files, graph);
      signatures.forEach(
          (name, s) ->
              calls.put(name, session.makeCallable(feeds(graph, s), fetches.get(name), List.of())));
    } catch (RuntimeException e) {
      session.close();
      throw e;
    }
  }

  /** Loads the graph with these tags out of {@code folder}. */
  public static LoadedModel load(Path folder, Set<String> tags, OpRegistry registry) {
    return new LoadedModel(SavedModelFolder.read(folder, tags), registry);
  }

  private Set<String> roots(SavedModelFolder files) {
    Set<String> roots = new LinkedHashSet<>();
    for (ModelSignature s : signatures.values()) {
      s.inputs().forEach(i -> roots.add(SavedModelFolder.node(i.tensor())));
      s.outputs().forEach(o -> roots.add(SavedModelFolder.node(o.tensor())));
    }
    files.assets().keySet().forEach(a -> roots.add(SavedModelFolder.node(a)));
    if (!files.restoreOp().isEmpty()) {
      roots.add(files.restoreOp());
      roots.add(SavedModelFolder.node(files.checkpointTensor()));
    }
    if (!files.initOp().isEmpty()) {
      roots.add(files.initOp());
    }
    return roots;
  }

  private static List<Output> feeds(Graph graph, ModelSignature s) {
    return s.inputs().stream().map(i -> graph.output(i.tensor())).toList();
  }

  /** What is fed cannot be fetched: an output that is an input comes out of an Identity. */
  private static List<Output> fetches(Graph graph, ModelSignature s) {
    List<Output> feeds = feeds(graph, s);
    List<Output> fetches = new ArrayList<>();
    for (TensorSpec o : s.outputs()) {
      Output out = graph.output(o.tensor());
      fetches.add(feeds.contains(out) ? Identity.of(Scope.of(graph), out) : out);
    }
    return fetches;
  }

  private void restore(SavedModelFolder files, Graph graph) {
    Map<Output, Tensor> feeds = new HashMap<>();
    try {
      files
          .assets()
          .forEach((t, file) -> feeds.put(graph.output(t), Tensor.scalar(file.toString())));
      if (!files.restoreOp().isEmpty()) {
        Map<Output, Tensor> all = new HashMap<>(feeds);
        try (Tensor checkpoint = Tensor.scalar(files.checkpoint().toString())) {
          all.put(graph.output(files.checkpointTensor()), checkpoint);
          session.run(all, graph.node(files.restoreOp()));
        }
      }
      if (!files.initOp().isEmpty()) {
        session.run(feeds, graph.node(files.initOp()));
      }
    } catch (MillraceException e) {
      throw e.withMessage("The SavedModel in " + folder + " cannot be prepared: " + e.getMessage());
    } finally {
      feeds.values().forEach(Tensor::close);
    }
  }

  /** Where it was loaded from. */
  public Path folder() {
    return folder;
  }

  /** What it can be asked for, by name. */
  public Map<String, ModelSignature> signatures() {
    return signatures;
  }

  /** The signatures as the model's file has them, for those who ask for the metadata. */
  public Map<String, SignatureDef> definitions() {
    return definitions;
  }

  /** The signature of this name; empty for the default one. */
  public ModelSignature signature(String name) {
    String wanted = name.isEmpty() ? defaultName() : name;
    ModelSignature s = signatures.get(wanted);
    if (s == null) {
      throw new MillraceException(
          Code.INVALID_ARGUMENT,
          "The model has no signature '"
              + wanted
              + "'; it has "
              + signatures.keySet()
              + "."
              + Closest.hint(wanted, signatures.keySet()));
    }
    return s;
  }

  /** The usual name, or that of the only signature. */
  private String defaultName() {
    return signatures.size() == 1 ? signatures.keySet().iterator().next() : ModelSignature.SERVING;
  }

  /** The call of a signature: takes its inputs in order, gives its outputs in order. */
  public Session.Callable call(ModelSignature s) {
    return calls.get(s.name());
  }

  @Override
  public void close() {
    session.close();
    signatures.values().forEach(s -> s.defaults().values().forEach(Tensor::close));
  }
}
