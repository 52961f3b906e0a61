package dev.millrace.cluster.transport;

import dev.millrace.base.Cancellation;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.link.ClientStep;
import dev.millrace.cluster.link.Greeting;
import dev.millrace.cluster.link.Link;
import dev.millrace.cluster.link.LinkService;
import dev.millrace.cluster.link.Links;
import dev.millrace.cluster.link.TaskIdentity;
import dev.millrace.cluster.peer.StepParts;
import dev.millrace.net.PeerIdentity;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The links of a context as a client of masters in other processes. They serve nothing.
 *
 * <p>Threading: any thread.
 */
final class ClientLinks implements LinkService, AutoCloseable {
  private static final Context.Part<ClientLinks> PART = Context.Part.of(ClientLinks::new);

  private static final long INCARNATION = ThreadLocalRandom.current().nextLong();

  private final ExecutorService threads;
  private final Links links;

  private ClientLinks(Context context) {
    threads = Executors.newCachedThreadPool(context.threads("millrace-client-"));
    links =
        context.call(
            () ->
                new Links(
                    "millrace-client",
                    null,
                    TaskAdmission.ofClient(context.config()),
                    this,
                    threads,
                    context.platform()));
  }

  /** The links of the clients in the context that the calling thread runs in. */
  static ClientLinks current() {
    return Context.current().get(PART);
  }

  /** The threads of these clients. */
  Executor threads() {
    return threads;
  }

  byte[] greeting() {
    return new Greeting(
            Greeting.VERSION,
            new TaskIdentity("", INCARNATION, "process " + ProcessHandle.current().pid()),
            new byte[0],
            new byte[0],
            links.folder(),
            0,
            0,
            0)
        .encode();
  }

  /**
   * Whether a task at {@code host:port} is greeted without gRPC: always with a credential, and if
   * it is a process of this user on this host.
   */
  boolean greetsDirectly(String address) {
    return links.dialer().encrypts() || links.dialer().isLocal(address);
  }

  /** Whether connections to other hosts are encrypted: gRPC is then not used. */
  boolean encrypts() {
    return links.dialer().encrypts();
  }

  /**
   * Links to a task without gRPC.
   *
   * @param task its name, which it must prove; empty for any
   * @param limit how long it may take to answer
   */
  Link connect(String task, String address, Duration limit) throws IOException {
    return connect(address, links.greet(task, address, greeting(), limit));
  }

  /** Links to the master that answered the greeting. */
  Link connect(String address, byte[] answer) throws IOException {
    Greeting g = Greeting.decode(answer);
    if (g.version() != Greeting.VERSION) {
      throw new IOException("links of version " + g.version());
    }
    return links.connect(g.identity().task(), address, g);
  }

  @Override
  public StepParts parts() {
    return StepParts.NONE;
  }

  @Override
  public void used(Link link, String session) {
    throw notATask();
  }

  @Override
  public List<Tensor> step(Link link, ClientStep call, Cancellation cancellation) {
    throw notATask();
  }

  @Override
  public CompletableFuture<byte[]> call(
      Link link, String method, byte[] request, Cancellation cancellation) {
    throw notATask();
  }

  /** Clients serve no calls. */
  @Override
  public int messageBytes() {
    return 0;
  }

  @Override
  public byte[] greeted(byte[] greeting, PeerIdentity proved) {
    throw notATask();
  }

  private static MillraceException notATask() {
    return MillraceException.invalid("This process is a client and no task of a cluster.");
  }

  @Override
  public void linked(Link link) {}

  @Override
  public void lost(Link link, MillraceException cause) {
    links.remove(link);
  }

  @Override
  public void close() {
    links.close();
    threads.shutdownNow();
  }
}
