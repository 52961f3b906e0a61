package dev.millrace.cluster.link;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.peer.RunGraph;
import dev.millrace.graph.Rendezvous;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * What a process does for those who are linked to it. Calls come on the link's threads; only {@link
 * #run}, {@link #step} and {@link #call} may wait.
 */
public interface LinkService {
  /** Runs a part of a step; the results are the caller's. */
  List<Tensor> run(Link link, RunGraph call, Cancellation cancellation);

  /** Forgets a step that has ended well, if nothing of it is left; returns whether it did. */
  boolean forget(long stepId);

  /** Forgets a step, whatever is left of it. */
  void cleanup(long stepId);

  /** Takes a tensor another task has sent to a step here, with a counted reference. */
  void deliver(long stepId, Rendezvous.Key key, Tensor value);

  /** Runs a step of a client's session; the results are the caller's. */
  List<Tensor> step(Link link, ClientStep call, Cancellation cancellation);

  /** Answers a call by method, now or later. */
  CompletableFuture<byte[]> call(
      Link link, String method, byte[] request, Cancellation cancellation);

  /** How long the request of a call by method may be. */
  int messageBytes();

  /** Answers the greeting of a process that is about to link; throws if it may not. */
  byte[] greeted(byte[] greeting);

  /** A link is there. */
  void linked(Link link);

  /** A link is gone, and with it, for all that is known, the process at its other end. */
  void lost(Link link, MillraceException cause);
}
