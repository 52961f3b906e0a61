package dev.millrace.base;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ThisUserTest {
  @Test
  void itIsTheOwnerOfItsFiles(@TempDir Path folder) throws IOException {
    Path file = Files.createFile(folder.resolve("mine"));
    assertEquals(Files.getOwner(file).getName(), ThisUser.name());
  }
}
