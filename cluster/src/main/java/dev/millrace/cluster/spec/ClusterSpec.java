package dev.millrace.cluster.spec;

import dev.millrace.base.MillraceException;
import dev.millrace.proto.ClusterDef;
import dev.millrace.proto.JobDef;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The tasks of a cluster: for each job the addresses ({@code host:port}) of its tasks. */
public final class ClusterSpec {
  private static final Pattern JOB = Pattern.compile("[A-Za-z][A-Za-z0-9_]*");

  /** The job of a chief that is no worker; the second is what it was called once. */
  private static final Set<String> CHIEF_JOBS = Set.of("chief", "master");

  private final SortedMap<String, SortedMap<Integer, String>> jobs;

  private ClusterSpec(SortedMap<String, SortedMap<Integer, String>> jobs) {
    this.jobs = jobs;
  }

  /** A spec of jobs whose tasks are numbered from 0. */
  public static ClusterSpec of(Map<String, List<String>> jobs) {
    SortedMap<String, SortedMap<Integer, String>> m = new TreeMap<>();
    jobs.forEach(
        (job, addresses) -> {
          SortedMap<Integer, String> tasks = new TreeMap<>();
          for (String a : addresses) {
            tasks.put(tasks.size(), a);
          }
          m.put(job, tasks);
        });
    return ofSparse(m);
  }

  /** A spec of jobs whose tasks have any numbers. */
  public static ClusterSpec ofSparse(Map<String, ? extends Map<Integer, String>> jobs) {
    SortedMap<String, SortedMap<Integer, String>> m = new TreeMap<>();
    jobs.forEach(
        (job, tasks) -> {
          if (!JOB.matcher(job).matches()) {
            throw MillraceException.invalid(
                "'%s' is not a job name: letters, digits and underscores, a letter first.", job);
          }
          tasks.forEach((i, address) -> checkAddress(new TaskId(job, i), address));
          m.put(job, Collections.unmodifiableSortedMap(new TreeMap<>(tasks)));
        });
    return new ClusterSpec(Collections.unmodifiableSortedMap(m));
  }

  /** The form of the command line: a comma-separated list of addresses per job. */
  public static ClusterSpec ofHosts(Map<String, String> hostLists) {
    SortedMap<String, List<String>> m = new TreeMap<>();
    hostLists.forEach(
        (job, list) ->
            m.put(
                job,
                Arrays.stream(list.split(","))
                    .map(String::strip)
                    .filter(s -> !s.isEmpty())
                    .toList()));
    return of(m);
  }

  /** From TensorFlow's message. */
  public static ClusterSpec decode(ClusterDef def) {
    SortedMap<String, SortedMap<Integer, String>> m = new TreeMap<>();
    for (JobDef j : def.getJobList()) {
      m.put(j.getName(), new TreeMap<>(j.getTasksMap()));
    }
    return ofSparse(m);
  }

  /** As TensorFlow's message. */
  public ClusterDef encode() {
    ClusterDef.Builder b = ClusterDef.newBuilder();
    jobs.forEach((job, tasks) -> b.addJob(JobDef.newBuilder().setName(job).putAllTasks(tasks)));
    return b.build();
  }

  private static void checkAddress(TaskId task, String address) {
    int colon = address.lastIndexOf(':');
    int port = -1;
    try {
      port = colon < 1 ? -1 : Integer.parseInt(address.substring(colon + 1));
    } catch (NumberFormatException e) {
      // Reported below.
    }
    if (port < 0 || port > 65535) {
      throw MillraceException.invalid(
          "The address of %s is '%s'; it must be host:port with a port from 0 to 65535.",
          task, address);
    }
  }

  /** Job names, in alphabetical order. */
  public List<String> jobs() {
    return List.copyOf(jobs.keySet());
  }

  /** The tasks of a job by number; empty if there is no such job. */
  public SortedMap<Integer, String> tasks(String job) {
    return jobs.getOrDefault(job, Collections.emptySortedMap());
  }

  /** All tasks, by job and number. */
  public List<TaskId> tasks() {
    List<TaskId> all = new ArrayList<>();
    jobs.forEach((job, tasks) -> tasks.keySet().forEach(i -> all.add(new TaskId(job, i))));
    return all;
  }

  /**
   * The tasks that each train a copy of the model, the chief first: a task of job {@code chief} (or
   * {@code master}) before the workers; where there is none, worker 0 is the chief. So do
   * TensorFlow's Estimators, whose other jobs, {@code ps} and {@code evaluator}, do not train.
   */
  public List<TaskId> replicas() {
    List<TaskId> chiefs = tasks().stream().filter(t -> CHIEF_JOBS.contains(t.job())).toList();
    if (chiefs.size() > 1) {
      throw MillraceException.invalid("A cluster has one chief, and this one has %s.", chiefs);
    }
    return Stream.concat(chiefs.stream(), tasks().stream().filter(t -> t.job().equals("worker")))
        .toList();
  }

  /**
   * The task that brings groups of collective ops together unless another is named: the first
   * chief, else the first worker, else the first task of all, as TensorFlow's strategies have it.
   */
  public TaskId collectiveLeader() {
    return tasks().stream()
        .min(
            Comparator.comparing((TaskId t) -> !t.job().equals("chief"))
                .thenComparing(t -> !t.job().equals("worker")))
        .orElseThrow();
  }

  /** The address of a task that must be in the spec. */
  public String address(TaskId task) {
    SortedMap<Integer, String> tasks = jobs.get(task.job());
    if (tasks == null) {
      throw MillraceException.invalid(
          "The cluster has no job '%s'; its jobs are %s.", task.job(), jobs.keySet());
    }
    String a = tasks.get(task.index());
    if (a == null) {
      throw MillraceException.invalid(
          "Job '%s' has no task %d; its tasks are %s.", task.job(), task.index(), tasks.keySet());
    }
    return a;
  }

  /**
   * How another task's spec contradicts this one, or null. Each may know tasks the other does not;
   * a host may have several names, a task only one port.
   */
  public String differenceFrom(ClusterSpec other) {
    for (TaskId t : tasks()) {
      String there = other.tasks(t.job()).get(t.index());
      String here = address(t);
      if (there != null && port(here) != 0 && port(there) != 0 && port(here) != port(there)) {
        return t + " is at " + here + " here and at " + there;
      }
    }
    return null;
  }

  private static int port(String address) {
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }

  /** This spec with one task at another address. */
  public ClusterSpec with(TaskId task, String address) {
    SortedMap<String, SortedMap<Integer, String>> m = new TreeMap<>();
    jobs.forEach((job, tasks) -> m.put(job, new TreeMap<>(tasks)));
    m.computeIfAbsent(task.job(), j -> new TreeMap<>()).put(task.index(), address);
    return ofSparse(m);
  }

  @Override
  public boolean equals(Object o) {
    return o instanceof ClusterSpec s && s.jobs.equals(jobs);
  }

  @Override
  public int hashCode() {
    return jobs.hashCode();
  }

  @Override
  public String toString() {
    return jobs.toString();
  }

  /** Fails if two tasks have the same address. */
  public void checkAddresses() {
    Map<String, TaskId> byAddress = new HashMap<>();
    for (TaskId task : tasks()) {
      TaskId other = byAddress.putIfAbsent(address(task), task);
      if (other != null) {
        throw MillraceException.invalid(
            "%s and %s have the same address, %s. Give each task a port of its own.",
            other, task, address(task));
      }
    }
  }

  /** Fails unless there are parameter servers and workers to train with, none of them left out. */
  public void checkTrains() {
    for (String job : List.of("ps", "worker")) {
      if (!tasks(job).isEmpty() && tasks(job).lastKey() != tasks(job).size() - 1) {
        throw MillraceException.invalid(
            "The cluster leaves out some tasks of job '%s': it has %s. Training needs all of them.",
            job, tasks(job).keySet());
      }
    }
    if (tasks("ps").isEmpty() || replicas().isEmpty()) {
      throw MillraceException.invalid(
          "The jobs of the cluster are %s; training needs ps and worker. Without parameter servers"
              + " there is --mode ring, which millrace launch starts.",
          jobs());
    }
  }
}
