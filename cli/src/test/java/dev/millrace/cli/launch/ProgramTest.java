package dev.millrace.cli.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class ProgramTest {
  @Test
  void aProgramOfTheUsersGetsNoCacheOfOurClassPath() {
    assertEquals(
        List.of("-Xmx1g", "-XX:+UseSerialGC"),
        Program.withoutCache(
            List.of("-Xmx1g", "-XX:AOTCache=/opt/millrace.aot", "-XX:+UseSerialGC")));
  }
}
