package dev.millrace.train.session;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.NoOp;
import dev.millrace.runtime.Session;
import dev.millrace.train.GraphSummaries;
import dev.millrace.train.checkpoint.Saver;
import dev.millrace.train.checkpoint.SaverOptions;
import dev.millrace.train.feature.VocabularyTable;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Variables;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * The nodes by which a training session starts and saves a model. What is left out (null) is made
 * when training begins: all global variables initialised and saved, all local ones initialised.
 *
 * @param initializer gives the global variables their first values; run by the chief
 * @param afterInitialize called after it, such as to load part of the model from elsewhere
 * @param localInitializer gives the local variables their values; run by every task
 * @param saver saves and restores
 * @param summary the merged summaries, a string
 */
public record Scaffold(
    Node initializer,
    Consumer<Session> afterInitialize,
    Node localInitializer,
    Saver saver,
    Output summary) {
  /** All as usual. */
  public static final Scaffold DEFAULT = new Scaffold(null, null, null, null, null);

  /** With another initialisation of the global variables. */
  public Scaffold withInitializer(Node node) {
    return new Scaffold(node, afterInitialize, localInitializer, saver, summary);
  }

  /** With something to do after the variables were initialised, not when they were restored. */
  public Scaffold withAfterInitialize(Consumer<Session> action) {
    return new Scaffold(initializer, action, localInitializer, saver, summary);
  }

  /** With another initialisation of the local variables. */
  public Scaffold withLocalInitializer(Node node) {
    return new Scaffold(initializer, afterInitialize, node, saver, summary);
  }

  /** With another saver. */
  public Scaffold withSaver(Saver s) {
    return new Scaffold(initializer, afterInitialize, localInitializer, s, summary);
  }

  /** With these summaries. */
  public Scaffold withSummary(Output merged) {
    return new Scaffold(initializer, afterInitialize, localInitializer, saver, merged);
  }

  /** Gives the local variables their values and fills the tables. */
  private static Node localInit(Scope scope, List<GraphVariable> local) {
    List<Node> tables = VocabularyTable.initializers(scope.graph());
    if (tables.isEmpty() && !local.isEmpty()) {
      return Variables.initializer(scope, "init_local", local);
    }
    List<Node> all = new ArrayList<>(tables);
    if (!local.isEmpty()) {
      all.add(Variables.initializer(scope, "init_local_variables", local));
    }
    return NoOp.group(scope.withName("init_local"), all);
  }

  /** Adds the nodes that are missing. A saver is made only if one is {@code needed}. */
  Scaffold completed(Scope outer, boolean saverNeeded) {
    Scope scope = outer.withoutControlInputs().withoutColocation();
    List<GraphVariable> local = Variables.local(scope.graph());
    Node init = initializer != null ? initializer : Variables.initializer(scope);
    Node localInit = localInitializer != null ? localInitializer : localInit(scope, local);
    Saver s =
        saver != null || !saverNeeded
            ? saver
            : Saver.of(scope, SaverOptions.DEFAULT.withSharded(true));
    Output merged =
        summary != null ? summary : GraphSummaries.merged(scope.withDevice((String) null));
    return new Scaffold(init, afterInitialize, localInit, s, merged);
  }
}
