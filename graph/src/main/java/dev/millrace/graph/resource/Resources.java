package dev.millrace.graph.resource;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
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

  private static final String STEP = "step/";
  private static final String SESSION = "session/";

  /** Something kept under a name. */
  public interface Resource {
    /** What it is, for messages: "Variable", "FIFOQueue". */
    String kind();

    /**
     * Reports every later change to {@code journal}, if this is state that outlives steps. Called
     * before anybody else knows the resource.
     */
    default void reportTo(StateJournal journal) {}

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
  private final VariableStore store;

  /** The name of the device within its task, for the store. */
  private final String device;

  /** No state as yet, and none that is kept elsewhere than in memory. */
  public Resources() {
    this(VariableStore.MEMORY, "CPU:0");
  }

  /** The state of a device, called {@code CPU:0} for example, which {@code store} keeps. */
  public Resources(VariableStore store, String device) {
    this.store = store;
    this.device = device;
    lock = new Object();
    containers = new HashMap<>();
    ownContainer = DEFAULT_CONTAINER;
    store
        .kept()
        .forEach(
            (id, v) -> {
              if (id.device().equals(device)) {
                containers.computeIfAbsent(id.container(), c -> new HashMap<>()).put(id.name(), v);
              }
            });
  }

  private Resources(Resources shared, String ownContainer) {
    lock = shared.lock;
    containers = shared.containers;
    store = shared.store;
    device = shared.device;
    this.ownContainer = ownContainer;
  }

  /** The same state for a session that shares it with others, but for what is its alone. */
  public Resources inSession() {
    return new Resources(this, SESSION + SESSIONS.incrementAndGet());
  }

  /** The container of what ends with a step: tensor arrays, stacks, temporary variables. */
  public static String containerOfStep(long stepId) {
    return STEP + stepId;
  }

  /** The container of what no other session is to find by its name, and what ends with this one. */
  public String ownContainer() {
    return ownContainer;
  }

  /** Keeps the variables and other state. */
  public VariableStore store() {
    return store;
  }

  /** The variable with this name, made by the store if there is none. */
  public Variable variable(String container, String name, DType dtype) {
    Resource r;
    synchronized (lock) {
      Map<String, Resource> c = container(container);
      r = c.get(name);
      if (r == null) {
        r = store.create(id(container, name), dtype);
        c.put(name, r);
      }
    }
    return cast(r, name, Variable.class);
  }

  /** The resource with this name, made now if there is none. */
  public <T extends Resource> T getOrCreate(
      String container, String name, Class<T> type, Supplier<T> factory) {
    Resource r;
    synchronized (lock) {
      Map<String, Resource> c = container(container);
      r = c.get(name);
      if (r == null) {
        r = factory.get();
        StateJournal journal = isStored(container) ? store.open(id(container, name), r) : null;
        if (journal != null) {
          r.reportTo(journal);
        }
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
      close(r, container, name);
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
      c.forEach((name, r) -> close(r, container, name));
    }
  }

  /** Closes everything, as the task or the session ends. What the store keeps, it still keeps. */
  public void closeAll() {
    List<Map<String, Resource>> all;
    synchronized (lock) {
      all = new ArrayList<>(containers.values());
      containers.clear();
    }
    all.forEach(c -> c.values().forEach(Resource::close));
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

  /** Under the lock. */
  private Map<String, Resource> container(String name) {
    return containers.computeIfAbsent(orDefault(name), k -> new HashMap<>());
  }

  private void close(Resource r, String container, String name) {
    r.close();
    if (isStored(container)) {
      store.removed(id(container, name));
    }
  }

  /** Whether the store learns of what is in a container: not of what a step or session makes. */
  private boolean isStored(String container) {
    return store != VariableStore.MEMORY
        && !container.startsWith(STEP)
        && !container.startsWith(SESSION);
  }

  private StateId id(String container, String name) {
    return new StateId(device, orDefault(container), name);
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
