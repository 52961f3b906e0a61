package dev.millrace.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.job.flags.Flag;
import dev.millrace.job.flags.ProgramFlags;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProgramFlagsTest {
  private static ProgramFlags parse(String... args) {
    return ProgramFlags.parse(JobFlags.all(3, 64, 0, 0), args);
  }

  @Test
  void namesMayHaveEitherDashAndValuesEitherForm() {
    ProgramFlags f = parse("--ps_hosts", "a:1", "--task-index=4", "--verbose", "--steps", "10");
    assertEquals("a:1", f.text("ps-hosts"));
    assertEquals(4, f.integer("task-index"));
    assertTrue(f.isOn("verbose"));
    assertEquals(10, f.longInteger("steps"));
    assertEquals(3, f.integer("epochs"));
    assertFalse(f.isGiven("epochs"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "--stepz 4|There is no flag '--stepz'.",
        "--steps four|--steps is 'four'; it must be a whole number, and not too large.",
        "--steps|--steps needs a value after it.",
        "local|'local' is not a flag: flags begin with --."
      })
  void aWrongFlagIsNamed(String args, String message) {
    MillraceException e = assertThrows(MillraceException.class, () -> parse(args.split(" ")));
    assertTrue(e.getMessage().startsWith(message), e.getMessage());
  }

  @Test
  void aFlagIsReadAsItWasDeclared() {
    ProgramFlags f = parse();
    assertThrows(MillraceException.class, () -> f.text("steps"));
    assertThrows(MillraceException.class, () -> f.text("colour"));
    assertThrows(
        MillraceException.class,
        () ->
            ProgramFlags.parse(
                List.of(new Flag("a", Long.class, 1L, ""), new Flag("a", Long.class, 1L, ""))));
  }
}
