"""Runs TensorFlow's own Python tests against Millrace servers. See docs/tensorflow-tests.md."""
import argparse
import base64
import glob
import json
import os
import queue
import subprocess
import sys
import threading
import time

import report

HERE = os.path.dirname(os.path.abspath(__file__))

# The ClusterDef of one job "localhost" with task 0 at localhost:0, as bytes of the protocol buffer.
LOCALHOST = b"\x0a\x1c\x0a\x09localhost\x12\x0f\x08\x00\x12\x0blocalhost:0"

# The ConfigProto of sessions with device_count {"CPU": 1}, in base 64.
ONE_CPU = base64.b64encode(b"\x0a\x07\x0a\x03CPU\x10\x01").decode()


class Forker:
  """The process that has TensorFlow loaded and forks one process per job."""

  def __init__(self, settings, name):
    temp = os.path.join(settings.out, "tmp-" + name)
    os.makedirs(temp, exist_ok=True)
    command = [sys.executable, os.path.join(HERE, "worker.py"), settings.source, temp]
    log = open(os.path.join(settings.out, f"worker-{name}.log"), "a")
    self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)

  def ask(self, job):
    self.process.stdin.write(json.dumps(job) + "\n")
    self.process.stdin.flush()
    return json.loads(self.process.stdout.readline())

  def end(self):
    self.process.stdin.close()
    self.process.wait()


class Side:
  """One of the two: TensorFlow's servers ("tf") or Millrace's ("millrace")."""

  # Files after which the server is replaced: their variables and queues stay in it.
  FILES_PER_SERVER = 20

  def __init__(self, settings, name):
    self.settings, self.name = settings, name
    self.forker = Forker(settings, name)
    self.server = None
    self.files = 0

  def target(self):
    if self.server is None:
      self.files = 0
      self.server = self.forker.ask({"do": "server"}) if self.name == "tf" else self.start_millrace()
    return self.server["target"]

  def start_millrace(self):
    log = open(os.path.join(self.settings.out, "millrace-server.log"), "a")
    process = subprocess.Popen(self.settings.host, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
    process.stdin.write(ONE_CPU + " localhost 0 " + base64.b64encode(LOCALHOST).decode() + "\n")
    process.stdin.flush()
    answer = process.stdout.readline().split()
    if not answer or answer[0] != "ok":
      sys.exit(f"The Millrace server did not start: {' '.join(answer)}. Its log is {log.name}.")
    return {"target": answer[1], "process": process}

  def drop_server(self):
    if self.server is None:
      return
    if self.name == "tf":
      self.forker.ask({"do": "end", "pid": self.server["pid"]})
    else:
      self.server["process"].kill()
      self.server["process"].wait()
    self.server = None

  def run(self, file, only=None):
    """From each test of a file to its result. A test that hangs or crashes costs one process."""
    settings = self.settings
    out = os.path.join(settings.out, "results", f"{result_name(file)}.{self.name}.jsonl")
    if os.path.exists(out):
      os.remove(out)
    results, begun = {}, time.time()
    # A busy machine must not cost Millrace tests that TensorFlow had the time for.
    seconds = settings.file_seconds * (1 if self.name == "tf" else 2)
    for _ in range(settings.attempts):
      left = seconds - (time.time() - begun)
      if left < 3:
        break
      if self.files >= self.FILES_PER_SERVER:
        self.drop_server()
      answer = self.forker.ask({
          "do": "tests", "file": os.path.join(settings.source, "tensorflow/python", file), "side": self.name,
          "target": self.target(), "host": settings.host, "only": only, "skip": sorted(results), "out": out,
          "log": out.replace(".jsonl", ".log"), "test_seconds": settings.test_seconds, "file_seconds": left})
      self.files += 1
      running, ended = None, False
      for line in open(out) if os.path.exists(out) else ():
        entry = json.loads(line)
        if "load" in entry:
          return {"load": entry["load"]}
        if "begun" in entry:
          running = entry["begun"]
        elif "test" in entry:
          results[entry["test"]] = entry
          running = None
        ended |= "end" in entry
      if ended:
        break
      self.drop_server()
      late = answer["exit"] == "time"
      if running and running not in results:
        text = "the file's time was over" if late else f"the test's process ended with {answer['exit']}"
        result = "time" if late else "crash"
        results[running] = {"test": running, "result": result, "seconds": 0, "steps": 1, "text": text}
      if late:
        break
      with open(out, "w") as f:
        f.writelines(json.dumps(entry) + "\n" for entry in results.values())
    return results

  def end(self):
    self.drop_server()
    self.forker.end()


def result_name(file):
  return file.replace("../", "").replace("/", ".")[:-3]


def prepare(settings):
  """Compiles the server process and writes down which ops it has."""
  classes = os.path.join(settings.out, "classes")
  os.makedirs(classes, exist_ok=True)
  source = os.path.join(HERE, "ServerHost.java")
  subprocess.run([settings.java + "/bin/javac", "-cp", settings.class_path, "-d", classes, source], check=True)
  settings.host = [
      settings.java + "/bin/java", "--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED",
      "--sun-misc-unsafe-memory-access=allow", "-XX:+UseSerialGC", "-Xms32m", "-Xmn16m",
      *os.environ.get("MILLRACE_JAVA_OPTS", "").split(), "-cp", f"{classes}:{settings.class_path}", "ServerHost"]
  ops = subprocess.run(settings.host, input="ops\n", capture_output=True, text=True, check=True).stdout.split()
  with open(os.path.join(settings.out, "ops.txt"), "w") as f:
    f.write("\n".join(ops) + "\n")


def read_settings():
  parser = argparse.ArgumentParser(prog="build/tensorflow-tests", description=__doc__)
  parser.add_argument("source", metavar="FOLDER", help="a TensorFlow 1.15 source tree, with tensorflow/python below it")
  parser.add_argument("files", nargs="*", metavar="FILE",
                      help="test files or patterns, relative to tensorflow/python; without any, all of eight folders")
  parser.add_argument("--list", action="append", default=[], help="a file with such names, one per line")
  parser.add_argument("--out", default="tensorflow-tests-out", help="folder of the results; a later run continues there")
  parser.add_argument("--test-seconds", type=float, default=30, help="a test that runs longer counts as a hang")
  parser.add_argument("--file-seconds", type=float, default=240, help="limit for a file; Millrace has twice as long")
  parser.add_argument("--attempts", type=int, default=8, help="processes per file: a hang or crash costs one")
  parser.add_argument("--minutes", type=float, default=600, help="no file begins after that")
  parser.add_argument("--again", action="store_true", help="also run files that have a result")
  parser.add_argument("--reuse-base", action="store_true", help="keep the results of TensorFlow's server")
  parser.add_argument("--failures", action="store_true", help="list each failure with its cause")
  parser.add_argument("--report", action="store_true", help="only print the table of the results there are")
  parser.add_argument("--java", required=True, help=argparse.SUPPRESS)
  parser.add_argument("--class-path", required=True, help=argparse.SUPPRESS)
  settings = parser.parse_intermixed_args()
  settings.source, settings.out = map(os.path.abspath, (settings.source, settings.out))
  if not os.path.isdir(os.path.join(settings.source, "tensorflow/python")):
    parser.error(f"{settings.source} has no folder tensorflow/python; give the root of a TensorFlow 1.15 source tree")
  return settings


DEFAULT = ["training/*_test.py", "client/*_test.py", "ops/*_test.py", "kernel_tests/*_test.py", "framework/*_test.py",
           "layers/*_test.py", "saved_model/*_test.py", "data/kernel_tests/*_test.py"]


def find_files(settings):
  patterns = list(settings.files)
  for name in settings.list:
    patterns += [line.split("#")[0].strip() for line in open(name) if line.split("#")[0].strip()]
  root = os.path.join(settings.source, "tensorflow/python")
  files = []
  for pattern in patterns or DEFAULT:
    found = [os.path.relpath(path, root) for path in sorted(glob.glob(os.path.join(root, pattern)))]
    if not found:
      print(f"No test file matches {pattern} in {root}.", file=sys.stderr)
    files += [file for file in found if file not in files]
  return files


class Run:
  def __init__(self, settings, files):
    self.settings, self.files = settings, files
    self.end = time.time() + 60 * settings.minutes
    self.waiting = queue.Queue(maxsize=8)
    self.passed = self.wanted = 0

  def summary(self, file):
    return os.path.join(self.settings.out, "results", result_name(file) + ".json")

  def base_line(self):
    """What passes on TensorFlow's server, file by file, ahead of the other side."""
    side = Side(self.settings, "tf")
    try:
      for file in self.files:
        if time.time() > self.end:
          break
        old = json.load(open(self.summary(file))) if os.path.exists(self.summary(file)) else None
        if old and not self.settings.again and "load" not in old:
          continue
        if old and self.settings.reuse_base and "base" in old:
          self.waiting.put((file, old["base"], old["base_seconds"]))
          continue
        begun = time.time()
        self.waiting.put((file, side.run(file), round(time.time() - begun, 1)))
    finally:
      self.waiting.put(None)
      side.end()

  def all(self):
    thread = threading.Thread(target=self.base_line)
    thread.start()
    side = Side(self.settings, "millrace")
    try:
      for file, base, seconds in iter(self.waiting.get, None):
        entry = {"file": file, "base_seconds": seconds, **self.compare(side, file, base)}
        with open(self.summary(file), "w") as f:
          json.dump(entry, f)
    finally:
      side.end()
    thread.join()

  def compare(self, side, file, base):
    if "load" in base:
      print(f"{file:60} does not load: {base['load'][:100]}", flush=True)
      return {"load": base["load"]}
    # A test that runs no step on a server says nothing of one.
    counted = [t for t, r in base.items() if r["result"] == "pass" and r["steps"]]
    begun = time.time()
    ours = side.run(file, counted) if counted else {}
    seconds = round(time.time() - begun, 1)
    passed = sum(ours.get(t, {}).get("result") == "pass" for t in counted)
    self.passed += passed
    self.wanted += len(counted)
    print(f"{file:60} {passed:4} of {len(counted):4} in {seconds:5.1f} s; sum {self.passed} of {self.wanted}", flush=True)
    return {"base": base, "millrace": ours, "millrace_seconds": seconds}


def main():
  settings = read_settings()
  files = find_files(settings)
  if not settings.report:
    os.makedirs(os.path.join(settings.out, "results"), exist_ok=True)
    prepare(settings)
    Run(settings, files).all()
  report.show(settings.out, files, settings.failures)


if __name__ == "__main__":
  main()
