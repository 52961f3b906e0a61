package dev.millrace.runtime.plan;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/**
 * How the nodes of a graph lie in loops. Frame 0 is what is in no loop; each loop is a frame within
 * another. A node runs in the frame its inputs come from. Its outputs are in the same, but for
 * Enter, whose output is in the loop it leads into, and Exit, whose output is where the loop is.
 * Constants that wait for nothing count as in no loop and may be read in all.
 */
public final class LoopNest {
  /** A loop as the graph has it, whatever it is in when it runs; {@code parent} is around it. */
  public record Frame(int parent, String name, int parallelIterations) {}

  private static final int UNKNOWN = -1;

  private final List<Node> nodes;
  private final List<Frame> frames = new ArrayList<>(List.of(new Frame(UNKNOWN, "", 1)));
  private final int[] frameOf;
  private final int[] outputFrame;

  private LoopNest(List<Node> nodes) {
    this.nodes = nodes;
    frameOf = new int[nodes.size()];
    outputFrame = new int[nodes.size()];
  }

  /** The loops of a graph with these nodes; refuses values that go in or out by other ways. */
  public static LoopNest of(List<Node> nodes) {
    LoopNest nest = new LoopNest(nodes);
    if (isAnyLoop(nodes)) {
      nest.assign();
    }
    return nest;
  }

  /** Whether there is a loop, or a part of one. */
  public static boolean isAnyLoop(List<Node> nodes) {
    for (Node n : nodes) {
      if (n.op().role() == Op.Role.ENTER || n.op().role() == Op.Role.NEXT_ITERATION) {
        return true;
      }
    }
    return false;
  }

  /** The loops by number; the first is what is in none. */
  public List<Frame> frames() {
    return frames;
  }

  /** The frame a node runs in. */
  public int frameOf(Node n) {
    return frameOf[n.id()];
  }

  /** The frame a node's outputs are in. */
  public int outputFrame(Node n) {
    return outputFrame[n.id()];
  }

  /** From the nodes that wait for nothing along the edges. */
  private void assign() {
    Arrays.fill(frameOf, UNKNOWN);
    Deque<Node> open = new ArrayDeque<>();
    List<List<Node>> readers = new ArrayList<>();
    nodes.forEach(n -> readers.add(new ArrayList<>(2)));
    for (Node n : nodes) {
      boolean waits = false;
      for (Output in : n.inputs()) {
        waits |= isRead(in.node(), n, readers);
      }
      for (Node c : n.controlInputs()) {
        waits |= isRead(c, n, readers);
      }
      if (!waits) {
        put(n, 0, open);
      }
    }
    while (!open.isEmpty()) {
      Node n = open.poll();
      for (Node reader : readers.get(n.id())) {
        if (frameOf[reader.id()] == UNKNOWN) {
          put(reader, outputFrame[n.id()], open);
        } else if (frameOf[reader.id()] != outputFrame[n.id()]) {
          throw MillraceException.invalid(
              "Node '%s' has inputs from different frames: from loop '%s' and from '%s' (node"
                  + " '%s'). Values go into a loop through Enter and leave it through Exit.",
              reader.name(),
              frames.get(frameOf[reader.id()]).name,
              frames.get(outputFrame[n.id()]).name,
              n.name());
        }
      }
    }
    for (Node n : nodes) {
      if (frameOf[n.id()] == UNKNOWN) {
        throw MillraceException.invalid(
            "Node '%s' waits for itself: no value from outside its loop ever reaches it.",
            n.name());
      }
    }
  }

  private static boolean isRead(Node source, Node reader, List<List<Node>> readers) {
    if (Simplifier.isConstant(source)) {
      return false;
    }
    readers.get(source.id()).add(reader);
    return true;
  }

  private void put(Node n, int frame, Deque<Node> open) {
    frameOf[n.id()] = frame;
    outputFrame[n.id()] =
        switch (n.op().role()) {
          case ENTER -> child(frame, n);
          case EXIT -> frames.get(frame).parent;
          default -> frame;
        };
    if (outputFrame[n.id()] == UNKNOWN) {
      throw MillraceException.invalid(
          "%s '%s' leads out of a loop, but its input is in none.", n.op().name(), n.name());
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
