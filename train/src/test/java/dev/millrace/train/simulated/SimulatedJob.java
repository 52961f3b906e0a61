package dev.millrace.train.simulated;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.config.ClusterSettings;
import dev.millrace.base.config.Config;
import dev.millrace.base.context.Context;
import dev.millrace.cluster.Task;
import dev.millrace.cluster.spec.ClusterSpec;
import dev.millrace.cluster.spec.TaskId;
import dev.millrace.graph.Graph;
import dev.millrace.graph.Scope;
import dev.millrace.graph.resource.VariableStore;
import dev.millrace.graph.store.ProcessStore;
import dev.millrace.ops.StandardOps;
import dev.millrace.simulation.SimulatedProcess;
import dev.millrace.simulation.Simulation;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.GlobalStep;
import dev.millrace.train.hook.SessionRunArgs;
import dev.millrace.train.hook.SessionRunContext;
import dev.millrace.train.hook.SessionRunHook;
import dev.millrace.train.job.JobEnd;
import dev.millrace.train.session.MonitoredTrainingSession;
import dev.millrace.train.session.TrainingSettings;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/** A job of parameter servers and workers on a simulated network, and what the seed does to it. */
final class SimulatedJob {
  private static final Duration LIMIT = Duration.ofMinutes(40);
  private static final Duration GRACE = Duration.ofSeconds(20);

  /** How long a task may take to discard sessions and steps if nothing has failed. */
  private static final Duration CLEANUP = Duration.ofSeconds(30);

  /** How long it may keep sessions and steps of tasks that are gone. */
  private static final Duration LEASES = Duration.ofMinutes(11);

  /** How long the supervisor waits before it starts a worker again whose task was lost. */
  private static final Duration RESTART = Duration.ofSeconds(1);

  /** How often it does so for one worker. */
  private static final int MOST_RESTARTS = 8;

  /**
   * How long parameter servers have to end once all workers have. One that was away when the chief
   * said how the job ended waits for that again: the supervisor ends it.
   */
  private static final Duration LAST_SERVERS = Duration.ofMinutes(1);

  /** The causes that a worker may fail with once the job has ended without it. */
  private static final Set<Code> LEFT_BEHIND =
      Set.of(Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.ABORTED);

  private static final int PORT = 2222;

  /** Shares of updates are not exact. */
  private static final double SMALL = 1e-3;

  /** A task of the job, in one process after the other. */
  private final class Member {
    final TaskId id;
    final boolean isServer;
    final int index;
    final String address;
    SimulatedProcess process;
    boolean over;

    /** Whether it is training, for the first time. */
    boolean started;

    /** Whether it began when others had made steps: its clock is ahead of the steps it has made. */
    boolean joined;

    int restarts;
    Throwable failure;

    /** Where its variables outlive it, and what keeps them there; null in memory only. */
    Path state;

    ProcessStore store;

    Member(TaskId id, boolean isServer, int index) {
      this.id = id;
      this.isServer = isServer;
      this.index = index;
      this.process = simulation.process(id.toString());
      this.address = process.address();
    }

    void start() {
      over = false;
      SimulatedProcess mine = process;
      Context context =
          Context.of(id.toString(), Config.defaults().with(ClusterSettings.INSECURE, true), mine);
      mine.start("main", () -> context.run(() -> live(context)));
    }

    private void live(Context context) {
      try (Task own = Task.start(spec, id, StandardOps.registry(), openStore())) {
        if (isServer) {
          serve(this, own, context);
        } else {
          work(this, own, context);
        }
        awaitNothingHeld(own, context);
        over = true;
      } catch (Throwable t) {
        ended(t);
      }
    }

    /** What a supervisor makes of a failure: a worker that lost a task is started again. */
    private void ended(Throwable t) {
      boolean isLeftBehind =
          !isServer
              && (restarts > 0 || index > 0 && chief().over)
              && t instanceof MillraceException e
              && LEFT_BEHIND.contains(e.code());
      if (!faults.isEmpty() && !isServer && isLoss(t) && restarts < MOST_RESTARTS) {
        restarts++;
        faults.add(at() + "start " + id + " again after " + t.getMessage());
        chiefKills += index == 0 ? 1 : 0;
        simulation.after(RESTART, this::restart);
      } else if (!faults.isEmpty() && isLeftBehind) {
        over = true;
      } else {
        failure = t;
        over = true;
      }
    }

    private static boolean isLoss(Throwable t) {
      return t instanceof MillraceException e
          && (e.code() == Code.UNAVAILABLE || e.code() == Code.ABORTED);
    }

    private VariableStore openStore() {
      if (state == null) {
        return VariableStore.MEMORY;
      }
      store = ProcessStore.open(state);
      return store;
    }

    /** What is in its files now is what a killed process leaves. */
    void leaveFiles() {
      if (store != null) {
        store.close();
      }
    }

    /** Others may still close their sessions here; those of killed tasks go with their leases. */
    private void awaitNothingHeld(Task own, Context context) throws InterruptedException {
      long start = context.timers().now();
      while (own.held() > 0) {
        Duration limit = faults.isEmpty() ? CLEANUP : LEASES;
        require(
            context.timers().since(start) < limit.toNanos(),
            id + " still holds " + own.held() + " sessions or steps");
        context.timers().sleep(Duration.ofMillis(100));
      }
    }

    void restart() {
      if (isServer && trainedNanos != 0) {
        over = true;
        return;
      }
      process = simulation.process(id.toString(), address);
      start();
    }
  }

  private final Simulation simulation;
  private final RandomGenerator random;
  private final JobShape shape;
  private final ClusterSpec spec;
  private final List<Member> members = new ArrayList<>();
  private final List<String> faults = new ArrayList<>();

  /** How often each update was tried, and how often its step was acknowledged. */
  private final int[] tried = new int[CountingModel.SLOTS];

  private final boolean[] acknowledged = new boolean[CountingModel.SLOTS];
  private final float[][] ledgers;

  /** Whether the variables outlive the processes of parameter servers. */
  private final boolean durable;

  private long globalStep;
  private int nextUpdate;

  /** When the last worker ended; 0 before. */
  private long trainedNanos;

  private int serverKills;
  private int chiefKills;

  /** How many steps of each worker were begun, and how many acknowledged. */
  private final int[] begun;

  private final int[] done;

  SimulatedJob(long seed) {
    simulation = new Simulation(seed);
    random = simulation.random();
    shape = JobShape.random(random);
    durable = seed % 2 == 1;
    ledgers = new float[shape.servers()][];
    begun = new int[shape.workers()];
    done = new int[shape.workers()];
    Map<String, List<String>> jobs = new LinkedHashMap<>();
    for (int i = 0; i < shape.servers(); i++) {
      members.add(new Member(new TaskId("ps", i), true, i));
    }
    for (int i = 0; i < shape.workers(); i++) {
      members.add(new Member(shape.worker(i), false, i));
    }
    for (Member m : members) {
      jobs.computeIfAbsent(m.id.job(), j -> new ArrayList<>()).add(m.address + ":" + PORT);
    }
    spec = ClusterSpec.of(jobs);
    if (durable) {
      members.stream().filter(m -> m.isServer).forEach(m -> m.state = newFolder());
    }
  }

  private static Path newFolder() {
    try {
      return Files.createTempDirectory("simulated-state");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Runs the job to its end, checks it, and returns the hash of its history. */
  long run() {
    for (Member m : members) {
      SimulatedProcess first = m.process;
      simulation.after(
          Duration.ofMillis(random.nextInt(2000)),
          () -> {
            if (first.isAlive()) {
              m.start();
            }
          });
    }
    int count = random.nextInt(5);
    for (int i = 0; i < count; i++) {
      simulation.after(Duration.ofMillis(random.nextInt(20_000)), this::fault);
    }
    try {
      simulation.runUntil(this::isOver, LIMIT);
    } catch (AssertionError e) {
      throw new AssertionError(describe(e.getMessage()), e);
    } finally {
      members.stream().filter(m -> m.store != null).forEach(m -> m.store.delete());
    }
    check();
    return simulation.historyHash();
  }

  private boolean isOver() {
    if (trainedNanos == 0 && members.stream().allMatch(m -> m.isServer || m.over)) {
      trainedNanos = simulation.now();
    }
    for (Member m : members) {
      if (!m.over && !faults.isEmpty() && isLate(trainedNanos)) {
        m.process.kill();
        m.over = true;
      }
      if (!m.over || m.process.isAlive() && !m.process.threads().isEmpty()) {
        return false;
      }
    }
    return true;
  }

  private boolean isLate(long sinceNanos) {
    return sinceNanos != 0 && simulation.now() - sinceNanos > LAST_SERVERS.toNanos();
  }

  private Member chief() {
    return members.get(shape.servers());
  }

  // ---- what the tasks do ----

  private void serve(Member m, Task own, Context context) {
    List<String> replicas = spec.replicas().stream().map(TaskId::toString).toList();
    JobEnd.Outcome outcome =
        JobEnd.await(
            StandardOps.registry(),
            graph -> own.session(graph, m.id.name()),
            m.index,
            replicas,
            GRACE,
            context.platform());
    require(outcome.cause() == null || !faults.isEmpty(), m.id + " heard: " + outcome.cause());
    read(m, own);
  }

  /** Reads the ledger of a parameter server. */
  private void read(Member m, Task own) {
    Scope scope =
        Scope.of(new Graph(StandardOps.registry())).withDevice(m.id.name() + "/device:CPU:0");
    GraphVariable ledger =
        VariableScope.of(scope)
            .variable(
                CountingModel.LEDGER + m.index,
                Shape.of(CountingModel.SLOTS),
                Initializers.zeros());
    GraphVariable step = GlobalStep.of(scope);
    try (var session = own.session(scope.graph(), m.id.name());
        Tensor values = session.fetch(ledger.read())) {
      ledgers[m.index] = values.toFloats();
      if (m.index == 0) {
        try (Tensor value = session.fetch(step.read())) {
          globalStep = value.longValue();
        }
      }
    }
  }

  private void work(Member m, Task own, Context context) {
    CountingModel model = new CountingModel(shape, m.index);
    int[] current = new int[1];
    SessionRunHook counts =
        new SessionRunHook() {
          @Override
          public SessionRunArgs beforeRun(SessionRunContext context) {
            tried[current[0]]++;
            checkBound(m);
            begun[m.index]++;
            return SessionRunArgs.NONE;
          }
        };
    List<SessionRunHook> hooks = new ArrayList<>(model.hooks);
    hooks.add(counts);
    TrainingSettings settings =
        TrainingSettings.DEFAULT
            .withChief(m.index == 0)
            .withHooks(hooks.toArray(new SessionRunHook[0]))
            .withSavesOnTermination(false)
            .withPlatform(context.platform());
    try (var training =
        MonitoredTrainingSession.start(
            model.scope, graph -> own.session(graph, "/job:ps", m.id.name()), settings)) {
      m.started = true;
      m.joined = IntStream.of(done).sum() > 0;
      training.loop(
          t -> {
            int id = nextUpdate++ % CountingModel.SLOTS;
            current[0] = id;
            try (Tensor update = CountingModel.update(id)) {
              t.run(Map.of(model.update, update), model.train);
            }
            acknowledged[id] = true;
            done[m.index]++;
            context.timers().park(this, random.nextLong(1_500_000_000L));
          });
    }
  }

  /** A worker that starts a step is at most the bound ahead; the slowest may be in a step. */
  private void checkBound(Member m) {
    if (shape.mode() != CountingModel.Mode.BOUNDED || !faults.isEmpty()) {
      return;
    }
    for (Member other : members) {
      if (!other.isServer && !other.over && other.started && !other.joined) {
        require(
            done[m.index] <= begun[other.index] + shape.bound(),
            m.id + " is at step " + done[m.index] + ", " + other.id + " at " + begun[other.index]);
      }
    }
  }

  // ---- faults ----

  private void fault() {
    if (members.stream().filter(m -> !m.isServer).allMatch(m -> m.over)) {
      return;
    }
    Member m = members.get(random.nextInt(members.size()));
    Member other = members.get(random.nextInt(members.size()));
    if (m.over || !m.process.isAlive()) {
      return;
    }
    switch (random.nextInt(6)) {
      case 0, 1 -> {
        int down = random.nextInt(8000);
        faults.add(at() + "kill " + m.id + " for " + down + " ms");
        if (m.isServer) {
          serverKills++;
        } else if (m.index == 0) {
          chiefKills++;
        }
        m.process.kill();
        m.leaveFiles();
        simulation.after(Duration.ofMillis(down), m::restart);
      }
      case 2 -> {
        int millis = random.nextInt(2) == 0 ? random.nextInt(2500) : random.nextInt(15_000);
        faults.add(at() + "pause " + m.id + " for " + millis + " ms");
        SimulatedProcess p = m.process;
        p.pause();
        simulation.after(Duration.ofMillis(millis), p::resume);
      }
      case 3 -> {
        faults.add(at() + "reset " + m.id + "-" + other.id);
        simulation.network().reset(m.address, other.address);
      }
      default -> cut(m, other);
    }
  }

  private void cut(Member m, Member other) {
    int millis = random.nextInt(2) == 0 ? random.nextInt(2500) : random.nextInt(15_000);
    boolean oneWay = random.nextBoolean();
    faults.add(
        at() + "cut " + m.id + "-" + other.id + (oneWay ? " one way" : "") + " for " + millis);
    if (oneWay) {
      simulation.network().cutOneWay(m.address, other.address);
    } else {
      simulation.network().cut(m.address, other.address);
    }
    simulation.after(Duration.ofMillis(millis), simulation.network()::heal);
  }

  private String at() {
    return simulation.now() / 1_000_000 + " ms: ";
  }

  // ---- what must hold ----

  private void check() {
    for (Member m : members) {
      if (m.failure != null) {
        throw new AssertionError(describe(m.id + " failed: " + m.failure), m.failure);
      }
      if (!m.process.isAlive()) {
        continue;
      }
      require(m.process.openSockets() == 0, m.id + " left sockets open");
      require(m.process.openSelectors() == 0, m.id + " left selectors open");
    }
    for (int ps = 0; ps < ledgers.length; ps++) {
      if (ledgers[ps] != null) {
        checkLedger(ps, ledgers[ps]);
      } else {
        require(!faults.isEmpty(), "ps " + ps + " has not read its ledger");
      }
    }
  }

  private void checkLedger(int ps, float[] ledger) {
    boolean sync = shape.mode() == CountingModel.Mode.SYNC;
    double share = sync ? shape.workers() - shape.backups() : 1;
    // Without a folder, a new chief starts from the beginning, as it does if variables are lost.
    boolean kept = (durable || serverKills == 0) && chiefKills == 0;
    double sum = 0;
    for (int id = 0; id < ledger.length; id++) {
      double count = ledger[id] * share;
      sum += ledger[id];
      require(
          sync || !durable || count < 1 + SMALL,
          "ps " + ps + ": update " + id + " counts " + count + " times");
      require(count < tried[id] + SMALL, "ps " + ps + ": update " + id + " counts " + count);
      require(
          sync || !kept || !acknowledged[id] || count > 1 - SMALL,
          "ps " + ps + ": update " + id + " was acknowledged and is lost");
    }
    if (faults.isEmpty()) {
      // Workers that leave give zeros, by which the chief may make more steps than it was to.
      double least = sync ? shape.steps() : globalStep;
      require(
          sum > least - SMALL && sum < globalStep + SMALL,
          "ps " + ps + ": " + sum + " updates in " + globalStep + " global steps");
    }
  }

  private void require(boolean condition, String what) {
    if (!condition) {
      throw new AssertionError(describe(what));
    }
  }

  private String describe(String what) {
    return what + " (" + shape + (durable ? ", durable" : "") + "; " + faults + ")";
  }
}
