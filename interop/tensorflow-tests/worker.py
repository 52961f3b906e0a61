"""Loads TensorFlow once and forks a process for each job, a line of JSON on standard input.

{"do": "server"} starts a TensorFlow server, the only task of the job "localhost". The answer has its target and pid.
{"do": "end", "pid"} ends it.
{"do": "tests", "file", "side": "tf" or "millrace", "target", "host", "only", "skip", "out", "test_seconds",
"file_seconds"} runs the tests of a file and appends one line of JSON per test to "out". The answer says how the
process ended.
"""
import hashlib
import json
import os
import re
import signal
import sys
import threading
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
SOURCE = sys.argv[1]
TEMP = sys.argv[2]
os.environ["TEST_TMPDIR"] = TEMP + "/"
os.environ["TEST_SRCDIR"] = SOURCE
os.environ["TEST_WORKSPACE"] = ""
os.chdir(TEMP)  # some tests write where they are

import logging
import unittest

import tensorflow as tf
from tensorflow.python.framework import test_util  # pylint: disable=unused-import
import tensorflow.python.training.training
import tensorflow.python.platform.test
import tensorflow.python.ops.gradient_checker
import tensorflow.python.ops.functional_ops
from absl import flags

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compat

tf.compat.v1.disable_v2_behavior()
compat.old_names(SOURCE)


class Result(unittest.TestResult):
  """Writes the result of each test at once, so that a crash loses none."""

  def __init__(self, out, test_seconds):
    super().__init__()
    self.out, self.test_seconds = out, test_seconds
    self.current = None
    self.lock = threading.Lock()
    threading.Thread(target=self.watch, daemon=True).start()

  def watch(self):
    while True:
      time.sleep(0.25)
      with self.lock:
        if self.current and time.time() > self.begun + self.test_seconds:
          self.write("hang", f"no result after {self.test_seconds} s")
          compat.Host.stop()
          os._exit(7)

  def write(self, result, text=""):
    self.out.write(json.dumps({"test": self.current, "result": result, "seconds": round(time.time() - self.begun, 2),
                               "steps": compat.Used.steps, "text": text, "ops": sorted(compat.Used.ops)}) + "\n")
    self.out.flush()

  def startTest(self, test):
    super().startTest(test)
    with self.lock:
      self.begun = time.time()
      self.worst, self.text = "pass", ""
      compat.Used.steps = compat.Used.servers = 0
      compat.Used.ops.clear()
      self.current = name_of(test)
      self.out.write(json.dumps({"begun": self.current}) + "\n")
      self.out.flush()

  def stopTest(self, test):
    with self.lock:
      if self.current:
        self.write(self.worst, self.text)
      self.current = None
    super().stopTest(test)

  def note(self, result, err):
    if self.worst in ("pass", "skip"):
      self.worst = result
      self.text = explain(err)

  def addError(self, test, err):
    if self.current:
      self.note("error", err)

  def addFailure(self, test, err):
    if self.current:
      self.note("fail", err)

  def addSubTest(self, test, subtest, err):
    if err is not None and self.current:
      self.note("fail" if issubclass(err[0], test.failureException) else "error", err)

  def addSkip(self, test, reason):
    if self.current and self.worst == "pass":
      self.worst, self.text = "skip", str(reason)

  def addUnexpectedSuccess(self, test):
    if self.current:
      self.worst = "fail"


def explain(err):
  """The exception, where in the test it came from, and what it came from."""
  kind, value, trace = err
  place = ""
  while trace is not None:
    code = trace.tb_frame.f_code
    if "_test" in os.path.basename(code.co_filename):
      place = f"{os.path.basename(code.co_filename)}:{trace.tb_lineno}"
    trace = trace.tb_next
  text = re.sub(r"Detected at node.*?(?=Node: )", "", f"{kind.__name__}: {value}", flags=re.S)
  text = text if len(text) < 3000 else text[:1500] + " ... " + text[-1500:]
  text = re.sub(r"\n *File \"[^\n]*", "", text)
  cause = value.__context__
  if cause is not None and cause is not value:
    text += f"\n[while handling {type(cause).__name__}: {str(cause)[:800]}]"
  return place + " " + text


def name_of(test):
  return type(test).__name__ + "." + getattr(test, "_testMethodName", str(test))


def tests_of(suite):
  for t in suite:
    if isinstance(t, unittest.TestSuite):
      yield from tests_of(t)
    else:
      yield t


def run_tests(job):
  out = open(job["out"], "a")
  log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
  os.dup2(log, 1)
  os.dup2(log, 2)
  os.environ["MILLRACE_HOST_LOG"] = job["log"]
  logging.getLogger("tensorflow").setLevel(logging.FATAL)
  compat.count_steps()
  compat.default_target(job["target"])
  if job["side"] == "millrace":
    compat.millrace_servers(job["host"])
  path = job["file"]
  import types
  module = types.ModuleType("__main__")
  module.__file__ = path
  sys.modules["__main__"] = module
  sys.argv = [path]
  from tensorflow.python.platform import googletest
  from tensorflow.python.platform import test as platform_test
  googletest.main = lambda argv=None: None
  platform_test.main = lambda argv=None: None
  try:
    with open(path) as f:
      exec(compile(f.read(), path, "exec"), module.__dict__)
    if not flags.FLAGS.is_parsed():
      flags.FLAGS(sys.argv[:1])
    suite = list(tests_of(unittest.defaultTestLoader.loadTestsFromModule(module)))
  except BaseException as e:  # pylint: disable=broad-except
    import traceback
    traceback.print_exc()
    out.write(json.dumps({"load": f"{type(e).__name__}: {e}"}) + "\n")
    out.flush()
    os._exit(3)
  only = None if job.get("only") is None else set(job["only"])
  skip = set(job.get("skip") or [])
  if len(suite) > 150:
    # The file's time may end first: a fixed random order makes those that run a fair sample.
    suite.sort(key=lambda t: hashlib.md5(name_of(t).encode()).hexdigest())
  result = Result(out, job["test_seconds"])
  last = None
  for test in suite:
    name = name_of(test)
    if name in skip or (only is not None and name not in only):
      continue
    if name.endswith(".test_session"):
      continue
    cls = type(test)
    if cls is not last:
      if last is not None:
        try:
          last.tearDownClass()
        except Exception:  # pylint: disable=broad-except
          pass
      last = cls
      try:
        cls.setUpClass()
      except Exception as e:  # pylint: disable=broad-except
        out.write(json.dumps({"class": cls.__name__, "text": f"{type(e).__name__}: {e}"}) + "\n")
        out.flush()
    try:
      test.run(result)
    except KeyboardInterrupt:
      pass
  out.write(json.dumps({"end": True}) + "\n")
  out.flush()
  compat.Host.stop()
  os._exit(0)


def run_server(write):
  log = os.open(os.path.join(TEMP, "tf_server.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
  os.dup2(log, 1)
  os.dup2(log, 2)
  server = tf.distribute.Server({"localhost": ["localhost:0"]}, protocol="grpc")
  os.write(write, (server.target + "\n").encode())
  os.close(write)
  parent = os.getppid()
  while os.getppid() == parent:
    time.sleep(1)
  os._exit(0)


def main():
  answers = os.fdopen(os.dup(1), "w")
  os.dup2(2, 1)
  while True:
    line = sys.stdin.readline()
    if not line:
      return
    job = json.loads(line)
    if job["do"] == "server":
      read, write = os.pipe()
      pid = os.fork()
      if pid == 0:
        os.close(read)
        try:
          run_server(write)
        finally:
          os._exit(1)
      os.close(write)
      with os.fdopen(read) as f:
        target = f.readline().strip()
      answer = {"target": target, "pid": pid}
    elif job["do"] == "end":
      try:
        os.kill(job["pid"], signal.SIGKILL)
        os.waitpid(job["pid"], 0)
      except OSError:
        pass
      answer = {}
    else:
      begun = time.time()
      pid = os.fork()
      if pid == 0:
        try:
          os.setsid()
          run_tests(job)
        except BaseException:  # pylint: disable=broad-except
          import traceback
          traceback.print_exc()
        finally:
          os._exit(9)
      status = None
      while time.time() < begun + job["file_seconds"]:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
          break
        time.sleep(0.05)
      else:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        status = None
      ended = "time" if status is None else os.waitstatus_to_exitcode(status)
      answer = {"exit": ended, "seconds": round(time.time() - begun, 1)}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


main()
