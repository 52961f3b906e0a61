package dev.millrace.graph.op;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * The state of a device that outlives steps and sessions: variables, queues, accumulators, by
 * container and name. Two graphs that name the same resource share it.
 *
 * <p>Threading: any thread. A resource's own methods are called outside the lock.
 */
public final class Resources {
  /** The container of resources that name none. */
  public static final String DEFAULT_CONTAINER = "localhost";

  /** Something kept under a name. */
  public interface Resource {
    /** What it is, for messages: "Variable", "FIFOQueue". */
    String kind();

    /** Ends it: waiters fail, memory is given back. */
    default void close() {}
  }

  /** A resource's full name, as it travels in a resource tensor. */
  public record Handle(String device, String container, String name, String kind) {}

  private static final AtomicLong SESSIONS = new AtomicLong();

  private final Object lock;

  /** Guarded by the lock. */
  private final Map<String, Map<String, Resource>> containers;

  private final String ownContainer;

  /** No state as yet. */
  public Resources() {
    lock = new Object();
    containers = new HashMap<>();
    ownContainer = DEFAULT_CONTAINER;
  }

  private Resources(Resources shared, String ownContainer) {
    lock = shared.lock;
    containers = shared.containers;
    this.ownContainer = ownContainer;
  }

  /** The same state for a session that shares it with others, but for what is its alone. */
  public Resources inSession() {
    return new Resources(this, "session/" + SESSIONS.incrementAndGet());
  }

  /** The container of what no other session is to find by its name, and what ends with this one. */
  public String ownContainer() {
    return ownContainer;
  }

  /** The resource with this name, made now if there is none. */
  public <T extends Resource> T getOrCreate(
      String container, String name, Class<T> type, Supplier<T> factory) {
    Resource r;
    synchronized (lock) {
      Map<String, Resource> c =
          containers.computeIfAbsent(orDefault(container), k -> new HashMap<>());
      r = c.get(name);
      if (r == null) {
        r = factory.get();
        c.put(name, r);
      }
    }
    return cast(r, name, type);
  }

  /** The resource with this name, or null. */
  public <T extends Resource> T find(String container, String name, Class<T> type) {
    Resource r;
    synchronized (lock) {
      Map<String, Resource> c = containers.get(orDefault(container));
      r = c == null ? null : c.get(name);
    }
    return r == null ? null : cast(r, name, type);
  }

  /** The resource with this name; NOT_FOUND if there is none. */
  public <T extends Resource> T get(String container, String name, Class<T> type) {
    T r = find(container, name, type);
    if (r == null) {
      throw new MillraceException(
          Code.NOT_FOUND,
          "Resource "
              + orDefault(container)
              + "/"
              + name
              + "/"
              + type.getSimpleName()
              + " does not exist.");
    }
    return r;
  }

  /** Removes and closes one resource; says whether there was one. */
  public boolean remove(String container, String name) {
    Resource r;
    synchronized (lock) {
      Map<String, Resource> c = containers.get(orDefault(container));
      r = c == null ? null : c.remove(name);
    }
    if (r != null) {
      r.close();
    }
    return r != null;
  }

  /** Removes and closes everything in a container. */
  public void clear(String container) {
    Map<String, Resource> c;
    synchronized (lock) {
      c = containers.remove(orDefault(container));
    }
    if (c != null) {
      c.values().forEach(Resource::close);
    }
  }

  /** Removes and closes everything. */
  public void clearAll() {
    List<String> names;
    synchronized (lock) {
      names = new ArrayList<>(containers.keySet());
    }
    names.forEach(this::clear);
  }

  /** All resources of a type, for status and counters. */
  public <T extends Resource> Map<String, T> all(Class<T> type) {
    Map<String, T> found = new java.util.TreeMap<>();
    synchronized (lock) {
      containers.forEach(
          (c, map) ->
              map.forEach(
                  (n, r) -> {
                    if (type.isInstance(r)) {
                      found.put(c.equals(DEFAULT_CONTAINER) ? n : c + "/" + n, type.cast(r));
                    }
                  }));
    }
    return found;
  }

  private static String orDefault(String container) {
    return container.isEmpty() ? DEFAULT_CONTAINER : container;
  }

  private static <T extends Resource> T cast(Resource r, String name, Class<T> type) {
    if (!type.isInstance(r)) {
      throw MillraceException.invalid(
          "'%s' is a %s, not a %s. Two nodes use one name for different things.",
          name, r.kind(), type.getSimpleName());
    }
    return type.cast(r);
  }
}
