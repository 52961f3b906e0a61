package dev.millrace.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import java.util.List;
import org.junit.jupiter.api.Test;

class ScopeTest {
  private final Scope scope = Scope.of(ToyOps.newGraph());

  private static Node node(Scope s) {
    return s.node("Source").add();
  }

  @Test
  void namesThatAreTakenGetANumber() {
    assertEquals("Source", node(scope).name());
    assertEquals("Source_1", node(scope).name());
    assertEquals("w", node(scope.withName("w")).name());
    assertEquals("w_1", node(scope.withName("w")).name());
    assertEquals("W_2", node(scope.withName("W")).name(), "case does not tell names apart");
  }

  @Test
  void subScopesArePartOfTheName() {
    Scope a = scope.withSubScope("a");
    assertEquals("a/Source", node(a).name());
    assertEquals("a/b/Source", node(a.withSubScope("b")).name());
    assertEquals("a_1/Source", node(scope.withSubScope("a")).name());
    assertEquals("a/Source_1", node(scope.reopened("a/")).name());
    assertEquals("t", node(scope.withSubScope("t").asNode()).name());
  }

  @Test
  void aNameThatIsNoneIsRefused() {
    MillraceException e = assertThrows(MillraceException.class, () -> node(scope.withName("a b")));
    assertTrue(e.getMessage().contains("'a b'"), e::getMessage);
  }

  @Test
  void devicesFillInWhatInnerScopesLeaveOpen() {
    Scope job = scope.withDevice("/job:worker/task:1");
    assertEquals("/job:worker/task:1/device:CPU:2", node(job.withDevice("/cpu:2")).device());
    assertEquals("/job:ps/task:1", node(job.withDevice("/job:ps")).device());
    assertEquals("", node(job.withDevice((String) null)).device());
  }

  @Test
  void aDeviceFunctionIsAskedForEveryNode() {
    Scope s = scope.withDevice(n -> n.op().name().equals("Source") ? "/job:ps" : "");
    assertEquals("/job:ps", node(s).device());
    assertEquals("/job:ps/task:3", node(s.withDevice("/task:3")).device());
  }

  @Test
  void controlInputsAddUpAndCanBeDropped() {
    Node a = node(scope.withName("a"));
    Node b = node(scope.withName("b"));
    Scope after = scope.withControlInputs(a).withControlInputs(b, a);
    assertEquals(List.of(a, b), node(after).controlInputs());
    assertEquals(List.of(), node(after.withoutControlInputs()).controlInputs());
  }

  @Test
  void aColocatedNodeFollowsTheOtherOne() {
    Node w = node(scope.withName("w").withDevice("/job:ps/task:1"));
    Scope with = scope.withDevice("/job:worker").colocatedWith(w);
    Node slot = node(with.withName("slot"));
    assertEquals(List.of("w"), slot.colocations());
    assertEquals("/job:ps/task:1", slot.device());
    assertEquals(List.of("w"), node(scope.colocatedWith(slot)).colocations());
    assertEquals(List.of(), node(with.withoutColocation()).colocations());
  }
}
