package dev.millrace.cluster.link;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.cluster.peer.StepParts;
import dev.millrace.net.PeerIdentity;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * What a process does for those who are linked to it. Calls come on the link's threads; only {@link
 * #step} and {@link #call} may wait.
 */
public interface LinkService {
  /** What runs the parts of steps, and takes the tensors, that come over links. */
  StepParts parts();

  /** A link is used for a session of a master; told before the first step and on each change. */
  void used(Link link, String session);

  /** Runs a step of a client's session; the results are the caller's. */
  List<Tensor> step(Link link, ClientStep call, Cancellation cancellation);

  /** Answers a call by method, now or later. */
  CompletableFuture<byte[]> call(
      Link link, String method, byte[] request, Cancellation cancellation);

  /** How long the request of a call by method may be. */
  int messageBytes();

  /**
   * Answers the greeting of a process that is about to link; throws if it may not.
   *
   * @param proved who it has proved to be
   */
  byte[] greeted(byte[] greeting, PeerIdentity proved);

  /** A link is there. */
  void linked(Link link);

  /** A link is gone, and with it, for all that is known, the process at its other end. */
  void lost(Link link, MillraceException cause);
}
