package dev.millrace.ops.transfer;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.op.AsyncKernel;
import dev.millrace.graph.op.Kernel;
import dev.millrace.graph.op.KernelContext;
import dev.millrace.graph.op.Op;
import dev.millrace.graph.op.Rendezvous;
import dev.millrace.graph.op.Shapes;
import dev.millrace.tensor.Tensor;

/**
 * The two ends of an edge that crosses devices, tasks, or the line between client and cluster. A
 * dead value is sent too, so that the other side learns it will not come.
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
        .shape(Shapes.none())
        .kernelPerNode(SendRecv::sender)
        .build();
  }

  private static Op recv(String name) {
    return ends(Op.define(name).attr("tensor_type: type").output("tensor: tensor_type"))
        .role(Op.Role.RECV)
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
    // A reference is copied: its memory may change before the bytes have left.
    boolean copies = node.input(0).isRef() || readsVariable(node);
    return c -> {
      Rendezvous.Key k = key.in(c.frameAndIteration());
      if (c.isDead(0)) {
        c.rendezvous().send(k, null, true);
      } else {
        Tensor t = c.input(0);
        Rendezvous r = c.rendezvous();
        r.send(k, copies ? r.stage(k, t) : t.retain(), false);
      }
    };
  }

  /** Whether the value sent is a reference read through nothing but Identity. */
  private static boolean readsVariable(Node send) {
    Node n = send.input(0).node();
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
          value.release();
          c.fail(
              MillraceException.internal(
                  "'%s' received a %s tensor where %s was declared.",
                  c.node().name(), value.dtype(), c.node().output(0).dtype()));
        } else {
          c.output(0, value);
        }
      } else if (value != null) {
        value.release();
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
