package dev.millrace.runtime.exec;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.op.Op;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/**
 * How the nodes of a graph lie in loops. Frame 0 is what is in no loop; each loop is a frame within
 * another. A node runs in the frame its inputs come from. Its outputs are in the same, but for
 * Enter, whose output is in the loop it leads into, and Exit, whose output is where the loop is.
 *
 * <p>Every execution of an iteration needs state for the nodes and slots of its frame only, so both
 * are numbered within their frame here.
 */
final class LoopFrames {
  /** A loop as the graph has it, whatever it is in when it runs. */
  static final class Frame {
    final int parent;
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

    Frame(int parent, String name, int parallelIterations) {
      this.parent = parent;
      this.name = name;
      this.parallelIterations = parallelIterations;
    }
  }

  private static final int UNKNOWN = -1;

  final List<Frame> frames = new ArrayList<>(List.of(new Frame(UNKNOWN, "", 1)));

  /** The frame a node runs in. */
  final int[] frameOf;

  /** The frame a node's outputs are in. */
  final int[] outputFrame;

  /** A node's number in its frame. */
  final int[] nodeNumber;

  /** A slot's number in its frame; -1 for those of constants, which are in all frames. */
  final int[] slotNumber;

  /** Of an Enter node: whether its value is the same in all iterations. */
  final boolean[] isConstantEnter;

  LoopFrames(CompiledGraph g, boolean[] constant) {
    int n = g.nodes.length;
    frameOf = new int[n];
    outputFrame = new int[n];
    Arrays.fill(frameOf, UNKNOWN);
    Arrays.fill(outputFrame, UNKNOWN);
    nodeNumber = new int[n];
    slotNumber = new int[g.initialValues.length];
    Arrays.fill(slotNumber, -1);
    isConstantEnter = new boolean[n];
    assignFrames(g);
    for (int i = 0; i < n; i++) {
      nodeNumber[i] = frames.get(frameOf[i]).nodes++;
      for (int s = g.outputStart[i]; s < g.outputStart[i + 1] && !constant[i]; s++) {
        slotNumber[s] = frames.get(outputFrame[i]).slots++;
      }
    }
    for (Frame f : frames) {
      f.pending = new int[f.nodes];
      f.uses = new int[f.slots];
    }
    for (int i = 0; i < n; i++) {
      Frame f = frames.get(frameOf[i]);
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

  /** From the nodes that wait for nothing along the edges. */
  private void assignFrames(CompiledGraph g) {
    Deque<Integer> open = new ArrayDeque<>();
    for (int i = 0; i < g.nodes.length; i++) {
      if (g.initialPending[i] == 0) {
        enter(g, i, 0, open);
      }
    }
    while (!open.isEmpty()) {
      int n = open.poll();
      for (int e = g.edgeStart[n]; e < g.edgeStart[n + 1]; e++) {
        int target = g.edgeTarget[e];
        if (frameOf[target] == UNKNOWN) {
          enter(g, target, outputFrame[n], open);
        } else if (frameOf[target] != outputFrame[n]) {
          throw MillraceException.invalid(
              "Node '%s' has inputs from loop '%s' and from '%s' (node '%s'). Values go into a loop"
                  + " through Enter and leave it through Exit.",
              g.nodes[target].name(),
              frames.get(frameOf[target]).name,
              frames.get(outputFrame[n]).name,
              g.nodes[n].name());
        }
      }
    }
    for (int i = 0; i < g.nodes.length; i++) {
      if (frameOf[i] == UNKNOWN) {
        throw MillraceException.invalid(
            "Node '%s' waits for itself: no value from outside its loop ever reaches it.",
            g.nodes[i].name());
      }
    }
  }

  private void enter(CompiledGraph g, int n, int frame, Deque<Integer> open) {
    frameOf[n] = frame;
    outputFrame[n] =
        switch (g.roles[n]) {
          case ENTER -> child(frame, g.nodes[n]);
          case EXIT -> frames.get(frame).parent;
          default -> frame;
        };
    if (outputFrame[n] == UNKNOWN) {
      throw MillraceException.invalid(
          "%s '%s' leads out of a loop, but its input is in none.",
          g.nodes[n].op().name(), g.nodes[n].name());
    }
    open.add(n);
  }

  private int child(int parent, Node enter) {
    String name = enter.stringAttr("frame_name");
    for (int f = 1; f < frames.size(); f++) {
      if (frames.get(f).parent == parent && frames.get(f).name.equals(name)) {
        return f;
      }
    }
    frames.add(new Frame(parent, name, Math.max(1, enter.intAttr("parallel_iterations"))));
    return frames.size() - 1;
  }
}
