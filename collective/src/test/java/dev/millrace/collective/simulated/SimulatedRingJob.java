package dev.millrace.collective.simulated;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.collective.Ring;
import dev.millrace.collective.Settings;
import dev.millrace.collective.member.RankConfig;
import dev.millrace.collective.member.Token;
import dev.millrace.collective.peers.Transport;
import dev.millrace.simulation.SimulatedProcess;
import dev.millrace.simulation.Simulation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.random.RandomGenerator;

/** A ring of 2 to 8 ranks on hosts of their own, and what the seed does to it. */
final class SimulatedRingJob {
  private static final Duration LIMIT = Duration.ofMinutes(20);
  private static final int PORT = 29_400;
  private static final Token TOKEN = Token.of("0123456789abcdef0123456789abcdef");
  private static final Set<Code> NAMED =
      Set.of(Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.FAILED_PRECONDITION);

  /** What became of one rank. */
  private static final class Rank {
    final SimulatedProcess process;
    Thread main;
    int done;
    Throwable failure;

    Rank(SimulatedProcess process) {
      this.process = process;
    }
  }

  private final Simulation simulation;
  private final RandomGenerator random;
  private final RingProgram program;
  private final List<Rank> ranks = new ArrayList<>();

  /** What was done to the job, for messages. */
  private final List<String> faults = new ArrayList<>();

  /** Whether a process ended or a connection broke: operations may fail. */
  private boolean mayFail;

  /** Whether all that happened is that processes were killed: the others know which. */
  private boolean onlyKills = true;

  private final Set<Integer> killed = new TreeSet<>();

  SimulatedRingJob(long seed) {
    simulation = new Simulation(seed);
    random = simulation.random();
    int size = 2 + random.nextInt(7);
    program = new RingProgram(seed, size);
    for (int r = 0; r < size; r++) {
      ranks.add(new Rank(simulation.process("rank" + r)));
    }
  }

  /** Runs the job to its end, checks it, and returns the hash of its history. */
  long run() {
    for (int r = 0; r < ranks.size(); r++) {
      int number = r;
      Rank rank = ranks.get(r);
      simulation.after(
          Duration.ofMillis(random.nextInt(3000)),
          () -> {
            if (rank.process.isAlive()) {
              rank.main = rank.process.start("main", () -> work(number, rank));
            }
          });
    }
    int count = random.nextInt(4);
    for (int i = 0; i < count; i++) {
      simulation.after(Duration.ofMillis(random.nextInt(5000)), this::fault);
    }
    simulation.runUntil(this::isOver, LIMIT);
    check();
    return simulation.historyHash();
  }

  private Settings settings(int number) {
    Rank first = ranks.getFirst();
    RankConfig place =
        RankConfig.of(number, ranks.size(), first.process.address() + ":" + PORT, TOKEN)
            .bindTo(ranks.get(number).process.address())
            .onHost("host" + number);
    return Settings.of(place).withTransport(Transport.TCP).withPlatform(ranks.get(number).process);
  }

  private void work(int number, Rank rank) {
    try (Ring ring = Ring.init(settings(number))) {
      for (int i = 0; i < program.rounds(); i++) {
        program.run(i, ring);
        rank.done++;
        rank.process.timers().sleep(random.nextLong(400_000_000L));
      }
      ring.barrier("end");
      rank.done++;
    } catch (Throwable t) {
      rank.failure = t;
    }
  }

  private boolean isOver() {
    return ranks.stream()
        .allMatch(r -> !r.process.isAlive() || r.main != null && r.process.threads().isEmpty());
  }

  // ---- faults ----

  private void fault() {
    int victim = random.nextInt(ranks.size());
    int other = (victim + 1 + random.nextInt(ranks.size() - 1)) % ranks.size();
    SimulatedProcess p = ranks.get(victim).process;
    SimulatedProcess q = ranks.get(other).process;
    switch (random.nextInt(7)) {
      case 0 -> {
        faults.add("kill " + victim);
        killed.add(victim);
        mayFail = true;
        p.kill();
      }
      case 1 -> {
        faults.add("crash the host of " + victim);
        killed.add(victim);
        mayFail = true;
        p.crash();
      }
      case 2 -> {
        faults.add("reset " + victim + "-" + other);
        mayFail = true;
        onlyKills = false;
        simulation.network().reset(p.address(), q.address());
      }
      case 3 -> pause(p, victim, 1 + random.nextInt(1500), false);
      case 4 -> pause(p, victim, 6000 + random.nextInt(20_000), true);
      case 5 -> cut(p, q, victim + "-" + other, random.nextInt(2500), false);
      default -> cut(p, q, victim + "-" + other, 6000 + random.nextInt(20_000), true);
    }
  }

  private void pause(SimulatedProcess p, int victim, int millis, boolean harms) {
    faults.add("pause " + victim + " for " + millis + " ms");
    mayFail |= harms;
    onlyKills = false;
    p.pause();
    simulation.after(Duration.ofMillis(millis), p::resume);
  }

  private void cut(
      SimulatedProcess p, SimulatedProcess q, String which, int millis, boolean harms) {
    boolean oneWay = random.nextBoolean();
    faults.add("cut " + which + (oneWay ? " one way" : "") + " for " + millis + " ms");
    mayFail |= harms;
    onlyKills = false;
    if (oneWay) {
      simulation.network().cutOneWay(p.address(), q.address());
    } else {
      simulation.network().cut(p.address(), q.address());
    }
    simulation.after(Duration.ofMillis(millis), simulation.network()::heal);
  }

  // ---- what must hold ----

  private void check() {
    Set<String> causes = new TreeSet<>();
    for (int r = 0; r < ranks.size(); r++) {
      Rank rank = ranks.get(r);
      if (!rank.process.isAlive()) {
        continue;
      }
      require(rank.process.openSockets() == 0, "rank " + r + " left sockets open");
      require(rank.process.openSelectors() == 0, "rank " + r + " left selectors open");
      if (rank.failure == null) {
        require(rank.done == program.rounds() + 1, "rank " + r + " ended early");
      } else {
        causes.add(cause(r, rank.failure));
      }
    }
    require(causes.isEmpty() || mayFail, "failed for no reason: " + causes);
    if (onlyKills && killed.size() == 1 && !causes.isEmpty()) {
      int victim = killed.iterator().next();
      if (victim != 0) {
        // A rank that starts after the others have failed finds no coordinator any more.
        causes.removeIf(c -> c.contains("to reach the job's coordinator"));
      }
      for (String c : causes) {
        require(
            c.contains("ank " + victim) || victim == 0 && c.contains("coordinator"),
            "a cause does not name rank " + victim + ": " + causes);
      }
      require(victim == 0 || causes.size() == 1, "the ranks name different causes: " + causes);
    }
  }

  /** The message of a failure that an operation may end with. */
  private String cause(int r, Throwable failure) {
    MillraceException e;
    try {
      e = MillraceException.of(failure);
    } catch (Error wrong) {
      throw new AssertionError(describe("rank " + r + ": " + wrong), failure);
    }
    if (!NAMED.contains(e.code()) || e.getMessage() == null) {
      throw new AssertionError(describe("rank " + r + ": " + e), failure);
    }
    return e.getMessage();
  }

  private void require(boolean condition, String what) {
    if (!condition) {
      throw new AssertionError(describe(what));
    }
  }

  private String describe(String what) {
    return what + " (" + ranks.size() + " ranks; " + faults + ")";
  }
}
