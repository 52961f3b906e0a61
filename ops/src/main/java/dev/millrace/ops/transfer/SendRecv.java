package dev.millrace.ops.transfer;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.AsyncKernel;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.KernelContext;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Rendezvous;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;

/**
 * The two ends of an edge that crosses devices, tasks, or the line between client and cluster. A
 * dead value is sent too, so that the other side learns it will not come. What travels is in host
 * memory: here values are copied from and to the memory of other devices.
 */
public final class SendRecv {
  public static final Op SEND = send("_Send");
  public static final Op HOST_SEND = send("_HostSend");
  public static final Op RECV = recv("_Recv");
  public static final Op HOST_RECV = recv("_HostRecv");

  private SendRecv() {}

  private static Op send(String name) {
    return ends(Op.define(name).attr("T: type").input("tensor: T"))
        .role(Op.Role.SEND)
        .runsOnAnyDevice()
        .shape(Shapes.none())
        .kernelPerNode(SendRecv::sender)
        .build();
  }

  private static Op recv(String name) {
    return ends(Op.define(name).attr("tensor_type: type").output("tensor: tensor_type"))
        .role(Op.Role.RECV)
        .runsOnAnyDevice()
        .shape(Shapes.unknown())
        .asyncKernel(SendRecv::receiver)
        .build();
  }

  private static Op.Builder ends(Op.Builder b) {
    return b.attr("tensor_name: string")
        .attr("send_device: string")
        .attr("send_device_incarnation: int")
        .attr("recv_device: string")
        .attr("client_terminated: bool = false")
        .stateful()
        .noGradient("gradients are added before a graph is partitioned");
  }

  private static Kernel sender(Node node) {
    Rendezvous.Key key = Rendezvous.Key.of(node);
    boolean copies = isVariableMemory(node.input(0));
    return c -> {
      Rendezvous.Key k = key.in(c.frameAndIteration());
      if (c.isDead(0)) {
        c.rendezvous().send(k, null, true);
      } else {
        Tensor t = c.input(0);
        Rendezvous r = c.rendezvous();
        r.send(k, copies ? r.stage(k, t) : c.memory().toHost(t), false);
      }
    };
  }

  /**
   * Whether a value is a variable's own memory: a reference, or one read through nothing but
   * Identity. What leaves the step is copied then, as the memory may change before it is read.
   */
  static boolean isVariableMemory(Output value) {
    if (value.isRef()) {
      return true;
    }
    Node n = value.node();
    while (n.op().name().equals("Identity") && n.inputCount() == 1) {
      if (n.input(0).isRef()) {
        return true;
      }
      n = n.input(0).node();
    }
    return false;
  }

  private static AsyncKernel receiver(Node node) {
    Rendezvous.Key key = Rendezvous.Key.of(node);
    return (c, done) -> c.rendezvous().recv(key.in(c.frameAndIteration()), new Into(c, done));
  }

  /** Puts what is received into output 0; leaving it unset makes it dead. */
  private record Into(KernelContext c, Runnable done) implements Rendezvous.Receiver {
    @Override
    public void received(Tensor value, boolean dead) {
      if (!dead) {
        if (value.dtype() != c.node().output(0).dtype()) {
          Refs.release(value);
          c.fail(
              MillraceException.internal(
                  "'%s' received a %s tensor where %s was declared.",
                  c.node().name(), value.dtype(), c.node().output(0).dtype()));
        } else {
          c.output(0, c.memory().fromHost(value));
        }
      } else if (value != null) {
        Refs.release(value);
      }
      done.run();
    }

    @Override
    public void failed(MillraceException cause) {
      c.fail(cause);
      done.run();
    }
  }
}
