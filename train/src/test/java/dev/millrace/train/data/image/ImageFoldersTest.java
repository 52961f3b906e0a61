package dev.millrace.train.data.image;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Elements;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ImageFoldersTest {
  @TempDir Path folder;

  private void picture(String name, String kind, int rgb) throws IOException {
    BufferedImage image = new BufferedImage(8, 6, BufferedImage.TYPE_INT_RGB);
    for (int i = 0; i < 48; i++) {
      image.setRGB(i % 8, i / 8, rgb);
    }
    Path file = folder.resolve(name);
    Files.createDirectories(file.getParent());
    assertTrue(ImageIO.write(image, kind, file.toFile()));
  }

  @Test
  void foldersAreClassesAndPicturesAreScaled() throws IOException {
    picture("dog/b.png", "png", 0x102030);
    picture("cat/a.PNG", "png", 0xFF8000);
    picture("dog/c.bmp", "bmp", 0xFFFFFF);
    Files.writeString(folder.resolve("dog/notes.txt"), "no picture");
    assertEquals(List.of("cat", "dog"), ImageFolders.classes(folder));
    try (Elements e = ImageFolders.read(folder, 3, 4, 3).batch(5, false).elements()) {
      Tensor[] batch = e.next();
      assertEquals(Shape.of(3, 3, 4, 3), batch[0].shape());
      assertEquals(0, batch[1].longAt(0));
      assertEquals(1, batch[1].longAt(1));
      long[] expected = {255, 128, 0, 16, 32, 48, 255, 255, 255};
      for (int i = 0; i < 9; i++) {
        assertEquals(expected[i], batch[0].longAt(i / 3 * 36L + i % 3));
      }
      Elements.release(batch);
      assertNull(e.next());
    }
    try (Elements e = ImageFolders.read(folder, 6, 8, 1).elements()) {
      Tensor[] first = e.next();
      assertEquals(Shape.of(6, 8, 1), first[0].shape());
      Elements.release(first);
    }
  }

  @Test
  void damagedPicturesAreNamed() throws IOException {
    picture("cat/a.png", "png", 1);
    byte[] bytes = Files.readAllBytes(folder.resolve("cat/a.png"));
    Files.write(folder.resolve("cat/a.png"), java.util.Arrays.copyOf(bytes, 40));
    try (Elements e = ImageFolders.read(folder, 6, 8, 3).elements()) {
      String message = assertThrows(MillraceException.class, e::next).getMessage();
      assertTrue(message.contains("a.png"), message);
    }
    Files.writeString(folder.resolve("cat/a.png"), "text");
    try (Elements e = ImageFolders.read(folder, 6, 8, 3).elements()) {
      String message = assertThrows(MillraceException.class, e::next).getMessage();
      assertTrue(message.contains("a.png is damaged, or not a picture"), message);
    }
    MillraceException none =
        assertThrows(
            MillraceException.class,
            () -> ImageFolders.read(Files.createDirectory(folder.resolve("empty")), 2, 2, 3));
    assertTrue(none.getMessage().startsWith("There are no pictures below"), none.getMessage());
  }
}
