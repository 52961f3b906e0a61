package dev.millrace.cluster.worker;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.DeviceSpec;
import dev.millrace.graph.op.Rendezvous;
import dev.millrace.runtime.exec.LocalRendezvous;
import dev.millrace.tensor.Tensor;

/**
 * A step's rendezvous on one task of a cluster. What is sent here waits here; what is to be
 * received from another task is fetched from there.
 *
 * <p>Threading: any thread.
 */
final class StepRendezvous implements Rendezvous {
  private final long stepId;
  private final String taskName;
  private final Peers peers;
  private final LocalRendezvous local = new LocalRendezvous();
  private final Cancellation fetches = new Cancellation();

  StepRendezvous(long stepId, String taskName, Peers peers) {
    this.stepId = stepId;
    this.taskName = taskName;
    this.peers = peers;
  }

  /** The part that other tasks fetch from. */
  LocalRendezvous local() {
    return local;
  }

  @Override
  public void send(Key key, Tensor value, boolean dead) {
    local.send(key, value, dead);
  }

  @Override
  public void recv(Key key, Receiver receiver) {
    String source = DeviceSpec.parse(key.sendDevice()).taskName();
    if (source.equals(taskName)) {
      local.recv(key, receiver);
      return;
    }
    try {
      peers.peer(source).recvTensor(stepId, key, fetches, receiver);
    } catch (MillraceException e) {
      receiver.failed(e);
    }
  }

  @Override
  public void abort(MillraceException cause) {
    local.abort(cause);
    fetches.cancel(cause);
  }
}
