package dev.millrace.runtime.exec;

import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.runtime.plan.LoopNest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A graph's {@link LoopNest loops} in the form the executor walks. Every execution of an iteration
 * needs state for the nodes and slots of its frame only, so both are numbered within their frame.
 */
final class LoopFrames {
  /** What every execution of a loop has in common. */
  static final class Frame {
    final String name;
    final int parallelIterations;

    /** How many Enter nodes lead into it. */
    int enters;

    /** The nodes that lead out of it. */
    final List<Integer> exits = new ArrayList<>();

    int nodes;
    int slots;

    /** Inputs each node waits for, by its number in the frame; of a merge, its control inputs. */
    int[] pending;

    /** How often each slot is read, by its number in the frame. */
    int[] uses;

    Frame(String name, int parallelIterations) {
      this.name = name;
      this.parallelIterations = parallelIterations;
    }
  }

  final List<Frame> frames = new ArrayList<>();

  /** The frame a node's outputs are in. */
  final int[] outputFrame;

  /** A node's number in its frame. */
  final int[] nodeNumber;

  /** A slot's number in its frame; -1 for those of constants, which are in all frames. */
  final int[] slotNumber;

  /** Of an Enter node: whether its value is the same in all iterations. */
  final boolean[] isConstantEnter;

  LoopFrames(CompiledGraph g, boolean[] constant) {
    LoopNest nest = LoopNest.of(Arrays.asList(g.nodes));
    nest.frames().forEach(f -> frames.add(new Frame(f.name(), f.parallelIterations())));
    int n = g.nodes.length;
    outputFrame = new int[n];
    nodeNumber = new int[n];
    slotNumber = new int[g.initialValues.length];
    Arrays.fill(slotNumber, -1);
    isConstantEnter = new boolean[n];
    for (int i = 0; i < n; i++) {
      outputFrame[i] = nest.outputFrame(g.nodes[i]);
      nodeNumber[i] = frames.get(nest.frameOf(g.nodes[i])).nodes++;
      for (int s = g.outputStart[i]; s < g.outputStart[i + 1] && !constant[i]; s++) {
        slotNumber[s] = frames.get(outputFrame[i]).slots++;
      }
    }
    for (Frame f : frames) {
      f.pending = new int[f.nodes];
      f.uses = new int[f.slots];
    }
    for (int i = 0; i < n; i++) {
      Frame f = frames.get(nest.frameOf(g.nodes[i]));
      f.pending[nodeNumber[i]] =
          g.roles[i] == Op.Role.MERGE ? controls(g.nodes[i], constant) : g.initialPending[i];
      for (int s = g.outputStart[i]; s < g.outputStart[i + 1] && !constant[i]; s++) {
        frames.get(outputFrame[i]).uses[slotNumber[s]] = g.initialUses[s];
      }
      if (g.roles[i] == Op.Role.ENTER) {
        frames.get(outputFrame[i]).enters++;
        isConstantEnter[i] = g.nodes[i].booleanAttr("is_constant");
      } else if (g.roles[i] == Op.Role.EXIT) {
        f.exits.add(i);
      }
    }
  }

  private static int controls(Node merge, boolean[] constant) {
    return (int) merge.controlInputs().stream().filter(c -> !constant[c.id()]).count();
  }
}
