package dev.millrace.graph.name;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DeviceSpecTest {
  private static final DeviceSpec FULL = DeviceSpec.parse("/job:ps/replica:0/task:1/device:CPU:0");

  @ParameterizedTest
  @CsvSource({
    "/cpu:1, /device:CPU:1",
    "/device:CPU:*, /device:CPU:*",
    "/job:ps/task:3, /job:ps/task:3",
    "/task:3/job:ps, /job:ps/task:3",
    "'', ''"
  })
  void allFormsAreUnderstood(String text, String normal) {
    assertEquals(normal.replace(":*", ""), DeviceSpec.parse(text).toString().replace(":*", ""));
  }

  @ParameterizedTest
  @ValueSource(strings = {"job:ps", "/job", "/task:x", "/nothing:1"})
  void whatIsNoDeviceIsRefused(String text) {
    MillraceException e = assertThrows(MillraceException.class, () -> DeviceSpec.parse(text));
    assertTrue(e.getMessage().contains(text), e::getMessage);
  }

  @Test
  void aPartialNameMatchesWhatAgreesWithIt() {
    assertTrue(DeviceSpec.parse("/job:ps").matches(FULL));
    assertTrue(DeviceSpec.ANY.matches(FULL));
    assertFalse(DeviceSpec.parse("/job:ps/task:0").matches(FULL));
    assertTrue(FULL.isFull());
    assertEquals("/job:ps/replica:0/task:1", FULL.taskName());
  }

  @Test
  void theInnerNameWinsOverTheOuter() {
    DeviceSpec outer = DeviceSpec.parse("/job:worker/task:2");
    assertEquals("/job:ps/task:2", DeviceSpec.parse("/job:ps").over(outer).toString());
  }

  @Test
  void wishesThatContradictHaveNothingInCommon() {
    DeviceSpec ps = DeviceSpec.parse("/job:ps");
    assertNull(ps.intersect(DeviceSpec.parse("/job:worker"), false));
    assertEquals("/job:ps/task:1", ps.intersect(DeviceSpec.parse("/task:1"), false).toString());
  }
}
