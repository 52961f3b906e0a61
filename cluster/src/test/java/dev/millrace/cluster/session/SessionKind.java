package dev.millrace.cluster.session;

import dev.millrace.cluster.ClusterSession;
import dev.millrace.cluster.ClusterSessionOptions;
import dev.millrace.cluster.Server;
import dev.millrace.graph.Graph;
import dev.millrace.proto.ConfigProto;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.runtime.SessionOptions;
import java.time.Duration;

/** The kinds of session a program can open. They differ in how a step travels, and in no result. */
public enum SessionKind {
  /** In this process, without a cluster. */
  LOCAL,
  /** On the master of this process. */
  DIRECT,
  /** On a master in another process, over a link. */
  LINK,
  /** On a master in another process, by gRPC. */
  GRPC;

  /** A session with variables of its own; {@code server} is the master where there is one. */
  public Session open(Graph graph, Server server, Duration stepTimeout) {
    if (this == LOCAL) {
      return new LocalSession(graph, SessionOptions.DEFAULT.withStepTimeout(stepTimeout));
    }
    // A server is known to this process by the name it was started with, and by no other.
    String target =
        this == DIRECT ? server.target() : server.target().replace("localhost", "127.0.0.1");
    return new ClusterSession(
        graph,
        target,
        ClusterSessionOptions.DEFAULT
            .withConfig(ConfigProto.newBuilder().setIsolateSessionState(true).build())
            .withStepTimeout(stepTimeout)
            .withLinks(this != GRPC));
  }
}
