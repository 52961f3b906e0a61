package dev.millrace.collective.member;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.config.Config;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RankConfigTest {
  private static Config env(String... namesAndValues) {
    Map<String, String> env = new HashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      env.put(namesAndValues[i], namesAndValues[i + 1]);
    }
    return Config.of(Map.of(), env);
  }

  @Test
  void withoutALauncherAProcessIsAlone() {
    RankConfig place = RankConfig.fromEnvironment(env("HOME", "/root"));
    assertEquals(0, place.rank());
    assertEquals(1, place.size());
  }

  @Test
  void everyLauncherIsUnderstood() {
    String[][] launchers = {
      {"MILLRACE_RANK", "MILLRACE_SIZE", "MILLRACE_LOCAL_SIZE"},
      {"HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_SIZE"},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
      {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
      {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE"},
    };
    for (String[] names : launchers) {
      RankConfig place =
          RankConfig.fromEnvironment(
              env(names[0], "2", names[1], "4", names[2], "4", "SLURM_NNODES", "1"));
      assertEquals(2, place.rank(), names[0]);
      assertEquals(4, place.size(), names[0]);
      assertNull(place.rendezvous());
      assertFalse(place.hostsCoordinator());
      assertEquals("127.0.0.1", place.bind());
    }
  }

  @Test
  void millracesOwnVariablesComeFirst() {
    RankConfig place =
        RankConfig.fromEnvironment(
            env("MILLRACE_RANK", "1", "MILLRACE_SIZE", "2", "PMI_RANK", "0", "PMI_SIZE", "8"));
    assertEquals(1, place.rank());
    assertEquals(2, place.size());
  }

  @Test
  void anAddressATokenAndABindAddressAreTaken() {
    RankConfig place =
        RankConfig.fromEnvironment(
            env(
                "OMPI_COMM_WORLD_RANK", "0",
                "OMPI_COMM_WORLD_SIZE", "4",
                "OMPI_COMM_WORLD_LOCAL_SIZE", "2",
                "MILLRACE_RENDEZVOUS", "host1:29400",
                "MILLRACE_TOKEN", "secret",
                "MILLRACE_BIND", "10.0.0.1"));
    assertEquals("host1", place.rendezvousAddress().getHostString());
    assertEquals(29400, place.rendezvousAddress().getPort());
    assertEquals("secret", place.token().text());
    assertEquals("10.0.0.1", place.bind());
    assertTrue(place.hostsCoordinator());
    assertFalse(place.toString().contains("secret"), "the token must not be shown");
  }

  @Test
  void severalHostsWithoutAnAddressAreToldWhatToSet() {
    MillraceException e =
        assertThrows(
            MillraceException.class,
            () ->
                RankConfig.fromEnvironment(
                    env(
                        "OMPI_COMM_WORLD_RANK", "0",
                        "OMPI_COMM_WORLD_SIZE", "4",
                        "OMPI_COMM_WORLD_LOCAL_SIZE", "2")));
    assertEquals(Code.FAILED_PRECONDITION, e.code());
    assertTrue(e.getMessage().contains("MILLRACE_RENDEZVOUS"), e.getMessage());
  }

  @Test
  void nonsenseIsRefusedByName() {
    assertMessage("MILLRACE_RANK", env("MILLRACE_RANK", "first", "MILLRACE_SIZE", "2"));
    assertMessage("needed both", env("MILLRACE_RANK", "0"));
    assertMessage("Rank 2 of 2", env("MILLRACE_RANK", "2", "MILLRACE_SIZE", "2"));
    assertThrows(MillraceException.class, () -> RankConfig.parse("nowhere"));
  }

  private static void assertMessage(String part, Config env) {
    MillraceException e =
        assertThrows(MillraceException.class, () -> RankConfig.fromEnvironment(env));
    assertEquals(Code.INVALID_ARGUMENT, e.code());
    assertTrue(e.getMessage().contains(part), e.getMessage());
  }

  @Test
  void jobsOfOneUserAreToldApart() {
    String rank = "OMPI_COMM_WORLD_RANK";
    String size = "OMPI_COMM_WORLD_SIZE";
    RankConfig a = RankConfig.fromEnvironment(env(rank, "0", size, "2", "PMIX_NAMESPACE", "a/1"));
    RankConfig b = RankConfig.fromEnvironment(env(rank, "1", size, "2", "PMIX_NAMESPACE", "b"));
    assertNotEquals(a.job(), b.job());
    assertFalse(a.job().contains("/"), "it becomes part of a file's name");
  }
}
