package dev.millrace.interop.conformance.cases;

import dev.millrace.interop.GraphWriter;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Scenario;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Map;

/** Branches and loops as TF1 graphs have them, of Switch, Merge and frames. */
public final class ControlFlowCases extends CaseTable {
  public ControlFlowCases() {
    branch();
    effectOfOneBranch();
    loop();
    nestedLoops();
    stack();
    referenceSwitch();
    referenceLoop();
  }

  private void branch() {
    Scenario s = scenario("Switch and Merge");
    GraphWriter g = s.graph();
    g.placeholder("p", DType.BOOL, Shape.scalar());
    g.placeholder("x", DType.FLOAT, Shape.of(3));
    g.add("switch", "Switch", Map.of(), "x", "p");
    g.add("no", "Neg", Map.of(), "switch:0");
    g.add("yes", "Square", Map.of(), "switch:1");
    g.add("merge", "Merge", Map.of(), "no", "yes");
    for (boolean p : new boolean[] {true, false}) {
      s.fetch(Map.of("p:0", Tensor.scalar(p), "x:0", floats(3)), "merge:0", "merge:1");
    }
  }

  private void effectOfOneBranch() {
    Scenario s = scenario("Switch with an effect in one branch");
    GraphWriter g = s.graph();
    StateCases.variable(g, "v", DType.FLOAT, Shape.scalar());
    g.constant("zero", Tensor.scalar(0f));
    g.add("init", "Assign", Map.of(), "v", "zero");
    g.placeholder("p", DType.BOOL, Shape.scalar());
    g.constant("one", Tensor.scalar(1f));
    g.add("switch", "Switch", Map.of(), "one", "p");
    g.add("count", "AssignAdd", Map.of(), "v", "switch:1");
    g.add("trigger", "ControlTrigger", Map.of(), "^count");
    g.constant("after", Tensor.scalar(7f));
    g.add("done", "Identity", Map.of(), "after", "^trigger");
    g.add("read", "Identity", Map.of(), "v");
    s.run("init");
    for (boolean p : new boolean[] {true, false, false, true}) {
      s.fetch(Map.of("p:0", Tensor.scalar(p)), "done").fetch("read");
    }
  }

  /** {@code i = 0; x = x0; while (i < n) { x = x * x0 - 1; i++; }}. */
  private void loop() {
    Scenario s = scenario("Enter, NextIteration and Exit");
    GraphWriter g = s.graph();
    g.constant("zero", Tensor.scalar(0));
    g.placeholder("n", DType.INT32, Shape.scalar());
    g.placeholder("x", DType.FLOAT, Shape.of(2));
    Map<String, Object> frame = Map.of("frame_name", "loop");
    Map<String, Object> constant = Map.of("frame_name", "loop", "is_constant", true);
    g.add("enterI", "Enter", frame, "zero");
    g.add("enterX", "Enter", frame, "x");
    g.add("x0", "Enter", constant, "x");
    g.add("limit", "Enter", constant, "n");
    g.merge("i", "enterI", "nextI");
    g.merge("y", "enterX", "nextX");
    g.add("less", "Less", Map.of(), "i", "limit");
    g.add("cond", "LoopCond", Map.of(), "less");
    g.add("switchI", "Switch", Map.of(), "i", "cond");
    g.add("switchX", "Switch", Map.of(), "y", "cond");
    g.add("bodyI", "Identity", Map.of(), "switchI:1");
    g.constant("one", Tensor.scalar(1), "^bodyI");
    g.constant("oneX", Tensor.scalar(1f), "^bodyI");
    g.add("plus", "AddV2", Map.of(), "bodyI", "one");
    g.add("times", "Mul", Map.of(), "switchX:1", "x0");
    g.add("minus", "Sub", Map.of(), "times", "oneX");
    g.add("nextI", "NextIteration", Map.of(), "plus");
    g.add("nextX", "NextIteration", Map.of(), "minus");
    g.add("exitI", "Exit", Map.of(), "switchI:0");
    g.add("exitX", "Exit", Map.of(), "switchX:0");
    for (int n : new int[] {0, 1, 2, 17}) {
      s.fetch(Map.of("n:0", Tensor.scalar(n), "x:0", floats(2)), "exitI", "exitX");
    }
  }

  /** What is pushed last is popped first. */
  private void stack() {
    Scenario s = scenario("Stack");
    GraphWriter g = s.graph();
    g.placeholder("x", DType.FLOAT, Shape.of(2));
    g.constant("size", Tensor.scalar(-1));
    g.add("stack", "StackV2", Map.of("elem_type", DType.FLOAT), "size");
    g.add("first", "StackPushV2", Map.of(), "stack", "x");
    g.add("negated", "Neg", Map.of(), "first");
    g.add("second", "StackPushV2", Map.of(), "stack", "negated");
    Map<String, Object> type = Map.of("elem_type", DType.FLOAT);
    g.add("popSecond", "StackPopV2", type, "stack", "^second");
    g.add("popFirst", "StackPopV2", type, "stack", "^popSecond");
    g.add("close", "StackCloseV2", Map.of(), "stack", "^popFirst");
    g.add("closed", "Identity", Map.of(), "popFirst", "^close");
    s.fetch(Map.of("x:0", floats(2)), "popSecond", "popFirst", "closed");
  }

  /** {@code total = 0; for (i = 0; i < n; i++) for (j = 0; j < i; j++) total++;}. */
  private void nestedLoops() {
    Scenario s = scenario("Enter within another frame");
    GraphWriter g = s.graph();
    g.constant("zero", Tensor.scalar(0));
    g.placeholder("n", DType.INT32, Shape.scalar());
    Map<String, Object> outer = Map.of("frame_name", "outer");
    Map<String, Object> inner = Map.of("frame_name", "inner");
    Map<String, Object> constant = Map.of("frame_name", "inner", "is_constant", true);
    g.add("enterI", "Enter", outer, "zero");
    g.add("enterT", "Enter", outer, "zero");
    g.add("limit", "Enter", Map.of("frame_name", "outer", "is_constant", true), "n");
    g.merge("i", "enterI", "nextI");
    g.merge("t", "enterT", "nextT");
    g.add("less", "Less", Map.of(), "i", "limit");
    g.add("cond", "LoopCond", Map.of(), "less");
    g.add("switchI", "Switch", Map.of(), "i", "cond");
    g.add("switchT", "Switch", Map.of(), "t", "cond");
    g.add("bodyI", "Identity", Map.of(), "switchI:1");
    g.constant("none", Tensor.scalar(0), "^bodyI");
    g.constant("one", Tensor.scalar(1), "^bodyI");
    g.add("enterJ", "Enter", inner, "none");
    g.add("enterU", "Enter", inner, "switchT:1");
    g.add("limitJ", "Enter", constant, "bodyI");
    g.add("oneJ", "Enter", constant, "one");
    g.merge("j", "enterJ", "nextJ");
    g.merge("u", "enterU", "nextU");
    g.add("lessJ", "Less", Map.of(), "j", "limitJ");
    g.add("condJ", "LoopCond", Map.of(), "lessJ");
    g.add("switchJ", "Switch", Map.of(), "j", "condJ");
    g.add("switchU", "Switch", Map.of(), "u", "condJ");
    g.add("plusJ", "AddV2", Map.of(), "switchJ:1", "oneJ");
    g.add("plusU", "AddV2", Map.of(), "switchU:1", "oneJ");
    g.add("nextJ", "NextIteration", Map.of(), "plusJ");
    g.add("nextU", "NextIteration", Map.of(), "plusU");
    g.add("exitU", "Exit", Map.of(), "switchU:0");
    g.add("plusI", "AddV2", Map.of(), "bodyI", "one");
    g.add("nextI", "NextIteration", Map.of(), "plusI");
    g.add("nextT", "NextIteration", Map.of(), "exitU");
    g.add("exitT", "Exit", Map.of(), "switchT:0");
    for (int n : new int[] {0, 1, 6}) {
      s.fetch(Map.of("n:0", Tensor.scalar(n)), "exitT");
    }
  }

  private void referenceSwitch() {
    Scenario s = scenario("RefSwitch");
    GraphWriter g = s.graph();
    StateCases.variable(g, "v", DType.FLOAT, Shape.of(2));
    g.constant("start", floats(2));
    g.add("init", "Assign", Map.of(), "v", "start");
    g.placeholder("p", DType.BOOL, Shape.scalar());
    g.add("switch", "RefSwitch", Map.of(), "v", "p");
    g.constant("more", floats(2));
    g.add("add", "AssignAdd", Map.of(), "switch:1", "more");
    g.add("sub", "AssignSub", Map.of(), "switch:0", "more");
    g.add("merge", "RefMerge", Map.of(), "sub", "add");
    g.add("same", "RefIdentity", Map.of(), "v");
    g.add("read", "Identity", Map.of(), "same");
    s.run("init");
    for (boolean p : new boolean[] {true, true, false}) {
      s.fetch(Map.of("p:0", Tensor.scalar(p)), "merge:0", "merge:1").fetch("read");
    }
  }

  /** {@code for (i = 0; i < n; i++) v += more;} with the variable itself going round. */
  private void referenceLoop() {
    Scenario s = scenario("RefEnter, RefNextIteration and RefExit");
    GraphWriter g = s.graph();
    StateCases.variable(g, "v", DType.FLOAT, Shape.of(2));
    g.constant("start", floats(2));
    g.add("init", "Assign", Map.of(), "v", "start");
    g.constant("zero", Tensor.scalar(0));
    g.placeholder("n", DType.INT32, Shape.scalar());
    Map<String, Object> frame = Map.of("frame_name", "loop");
    g.add("enterI", "Enter", frame, "zero");
    g.add("enterV", "RefEnter", frame, "v");
    g.add("limit", "Enter", Map.of("frame_name", "loop", "is_constant", true), "n");
    g.merge("i", "enterI", "nextI");
    g.merge("w", "RefMerge", "enterV", "nextV");
    g.add("less", "Less", Map.of(), "i", "limit");
    g.add("cond", "LoopCond", Map.of(), "less");
    g.add("switchI", "Switch", Map.of(), "i", "cond");
    g.add("switchV", "RefSwitch", Map.of(), "w", "cond");
    g.add("body", "Identity", Map.of(), "switchI:1");
    g.constant("one", Tensor.scalar(1), "^body");
    g.constant("more", floats(2), "^body");
    g.add("plus", "AddV2", Map.of(), "body", "one");
    g.add("add", "AssignAdd", Map.of(), "switchV:1", "more");
    g.add("nextI", "NextIteration", Map.of(), "plus");
    g.add("nextV", "RefNextIteration", Map.of(), "add");
    g.add("exit", "RefExit", Map.of(), "switchV:0");
    g.add("result", "Identity", Map.of(), "exit");
    s.run("init");
    for (int n : new int[] {0, 1, 3}) {
      s.fetch(Map.of("n:0", Tensor.scalar(n)), "result").fetch("v");
    }
  }
}
