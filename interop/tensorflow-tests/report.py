"""The table of what build/tensorflow-tests has found: passes on both sides, and failures by cause."""
import collections
import glob
import json
import os
import re

OP = "op not implemented"
TYPE = "type or option not implemented"
VALUE = "wrong value"
WORDS = "other words or type of an error"
SILENT = "no error where one is due"
HANG = "hang"
CRASH = "crash"
OTHER = "error"
CAUSES = [OP, TYPE, VALUE, WORDS, SILENT, HANG, CRASH, OTHER]

MISSING_OP = re.compile(r"No op '(\w+)' in the registry|Op type not registered '(\w+)'")
UNSUPPORTED = re.compile(
    r"not implemented|Unimplemented|UNIMPLEMENTED|does not support|not supported|cannot compute on|takes? no")
DIFFERENT = re.compile(r"Not equal to tolerance|Arrays are not equal|Mismatched value")
OTHER_ERROR = re.compile(r"does not match|Exception of type")


def cause_of(result):
  """Why a test fails, and the op or the message that shows it."""
  if result["result"] in (HANG, CRASH):
    return result["result"], result["text"]
  op = MISSING_OP.search(result["text"])
  if op:
    return OP, op.group(1) or op.group(2)
  text = " ".join(result["text"].split())
  detail = re.sub(r"Graph execution error: (Detected at node .*? Node: '[^']*' )?", "", text)[:300]
  if UNSUPPORTED.search(text):
    return TYPE, detail
  if DIFFERENT.search(text):
    return VALUE, detail
  if "not raised" in text:
    return SILENT, detail
  if OTHER_ERROR.search(text):
    return WORDS, detail
  return (VALUE if result["result"] == "fail" else OTHER), detail


class Table:
  def __init__(self, known_ops):
    self.known_ops = known_ops
    self.rows, self.causes = [], collections.Counter()
    self.passed = self.counted = self.unloadable = self.unreached = 0
    self.needed, self.alone = collections.Counter(), collections.Counter()
    self.failures = []

  def add(self, entry):
    if "load" in entry:
      self.unloadable += 1
      return
    counted = [t for t, r in entry["base"].items() if r["result"] == "pass" and r["steps"]]
    reached = [t for t in counted if entry["millrace"].get(t, {"result": "time"})["result"] != "time"]
    self.unreached += len(counted) - len(reached)
    if not reached:
      return
    passed, causes = 0, collections.Counter()
    for test in reached:
      result = entry["millrace"][test]
      if result["result"] == "pass":
        passed += 1
        continue
      cause, detail = cause_of(result)
      causes[cause] += 1
      if cause == OP:
        self.note_ops(set(result.get("ops") or []) - self.known_ops or {detail})
      self.failures.append((cause, entry["file"], test, detail))
    self.rows.append((entry["file"], len(reached), passed, causes))
    self.causes.update(causes)
    self.passed += passed
    self.counted += len(reached)

  def note_ops(self, unknown):
    self.needed.update(unknown)
    if len(unknown) == 1:
      self.alone.update(unknown)

  def show(self, failures):
    print("\n| file | pass on TensorFlow | pass on Millrace | " + " | ".join(CAUSES) + " |")
    print("| --- " * (3 + len(CAUSES)) + "|")
    for file, counted, passed, causes in self.rows + [("all", self.counted, self.passed, self.causes)]:
      print(f"| {file} | {counted} | {passed} | " + " | ".join(str(causes[c] or "") for c in CAUSES) + " |")
    share = 100 * self.passed / max(1, self.counted)
    print(f"\n{self.passed} of {self.counted} tests that pass on TensorFlow's server pass on Millrace's ({share:.1f} %),"
          f" in {len(self.rows)} files. {self.unloadable} files do not load on this TensorFlow. The time was over for"
          f" {self.unreached} tests, which are not counted.")
    if self.needed:
      print("\nMissing ops, by the number of tests whose graphs have them (in brackets: tests that lack no other):\n")
      for op, n in sorted(self.needed.items(), key=lambda i: (-i[1], -self.alone[i[0]], i[0])):
        print(f"- {op}: {n} ({self.alone[op]})")
    if failures:
      for cause, file, test, detail in sorted(self.failures):
        print(f"- {cause}: {file} {test}: {detail}")


def show(out, files, failures):
  with open(os.path.join(out, "ops.txt")) as f:
    table = Table(set(f.read().split()))
  for path in sorted(glob.glob(os.path.join(out, "results", "*.json"))):
    with open(path) as f:
      entry = json.load(f)
    if entry["file"] in files:
      table.add(entry)
  table.show(failures)
