package dev.millrace.cluster.transport;

import dev.millrace.cluster.link.Link;
import io.grpc.Attributes;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerTransportFilter;
import java.net.SocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** Tells which connection a call came over, and when a connection is gone. */
final class Connections extends ServerTransportFilter implements ServerInterceptor {
  /** A connection of gRPC's to this server. */
  static final class Connection {
    private final SocketAddress remote;
    private volatile boolean gone;

    Connection(SocketAddress remote) {
      this.remote = remote;
    }

    boolean isGone() {
      return gone;
    }
  }

  /** What the call being served came over: a connection of gRPC's or a link. */
  static final Context.Key<Object> CURRENT = Context.key("connection");

  private static final Attributes.Key<Connection> CONNECTION = Attributes.Key.create("connection");

  private final Map<SocketAddress, Connection> byAddress = new ConcurrentHashMap<>();
  private final List<Leases> watchers = new CopyOnWriteArrayList<>();

  /** Tells {@code leases} of connections that are gone. */
  void watch(Leases leases) {
    watchers.add(leases);
  }

  /** What the call being served came over; null outside of one. */
  static Object current() {
    return CURRENT.get();
  }

  /** Who makes the call being served, for the log. */
  static String caller() {
    return switch (CURRENT.get()) {
      case Link link -> link.peer() + ", " + link.connection();
      case Connection c -> "a client without credential at " + c.remote;
      case null, default -> "this process";
    };
  }

  /** Whether the connection from this address holds sessions. */
  boolean holdsSessions(SocketAddress remote) {
    Connection c = byAddress.get(remote);
    return c != null && watchers.stream().anyMatch(l -> l.isUsedBy(c));
  }

  @Override
  public Attributes transportReady(Attributes attributes) {
    SocketAddress remote = attributes.get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
    Connection connection = new Connection(remote);
    if (remote != null) {
      byAddress.put(remote, connection);
    }
    return attributes.toBuilder().set(CONNECTION, connection).build();
  }

  @Override
  public void transportTerminated(Attributes attributes) {
    Connection connection = attributes == null ? null : attributes.get(CONNECTION);
    if (connection != null) {
      connection.gone = true;
      SocketAddress remote = attributes.get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
      if (remote != null) {
        byAddress.remove(remote, connection);
      }
      watchers.forEach(l -> l.gone(connection));
    }
  }

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    Connection connection = call.getAttributes().get(CONNECTION);
    return connection == null
        ? next.startCall(call, headers)
        : Contexts.interceptCall(
            Context.current().withValue(CURRENT, connection), call, headers, next);
  }
}
