package dev.millrace.train.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class TrainingSettingsTest {
  // README claim: hang-limit
  @Test
  void everyWaitIsLimitedToTenMinutesByDefault() {
    assertEquals(Duration.ofMinutes(10), TrainingSettings.DEFAULT.maxWait());
    assertEquals(Duration.ofMinutes(10), TrainingSettings.DEFAULT.stepTimeout());
  }
}
