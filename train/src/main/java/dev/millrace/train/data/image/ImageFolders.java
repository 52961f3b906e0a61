package dev.millrace.train.data.image;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Datasets;
import dev.millrace.train.data.file.InputFiles;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.image.BufferedImage;
import java.awt.image.Raster;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;
import javax.imageio.ImageIO;

/**
 * Pictures in folders, one for each class: PNG, JPEG, GIF and BMP. An element is the picture, uint8
 * of {@code [height, width, channels]}, and the number of its folder, int64. A split has some
 * hundred pictures of all folders.
 */
public final class ImageFolders {
  private static final Set<String> ENDINGS = Set.of("png", "jpg", "jpeg", "gif", "bmp");
  private static final int PICTURES_OF_A_SPLIT = 256;

  private ImageFolders() {}

  /** A picture and the number of its class. */
  private record Labelled(Path file, long label) {}

  /** The names of the classes: the folders in {@code root}, sorted. */
  public static List<String> classes(Path root) {
    return list(root).stream()
        .filter(Files::isDirectory)
        .map(p -> p.getFileName().toString())
        .toList();
  }

  /**
   * The pictures below {@code root}, scaled to {@code height} and {@code width}.
   *
   * @param channels 3 for colours, 1 for grey
   */
  public static Dataset read(Path root, int height, int width, int channels) {
    if (height < 1 || width < 1 || (channels != 1 && channels != 3)) {
      throw MillraceException.invalid(
          "Pictures cannot be of %d x %d with %d channels: there are 1 or 3 channels.",
          height, width, channels);
    }
    List<Labelled> all = new ArrayList<>();
    List<String> classes = classes(root);
    for (int c = 0; c < classes.size(); c++) {
      for (Path file : list(root.resolve(classes.get(c)))) {
        String name = file.toString();
        String ending = name.substring(name.lastIndexOf('.') + 1).toLowerCase(Locale.ROOT);
        if (ENDINGS.contains(ending)) {
          all.add(new Labelled(file, c));
        }
      }
    }
    if (all.isEmpty()) {
      throw new MillraceException(
          Code.NOT_FOUND,
          "There are no pictures below " + root + ": they belong into a folder for each class.");
    }
    int splits = Math.ceilDiv(all.size(), PICTURES_OF_A_SPLIT);
    List<Dataset> parts = new ArrayList<>();
    for (int i = 0; i < splits; i++) {
      List<Labelled> part = new ArrayList<>();
      for (int k = i; k < all.size(); k += splits) {
        part.add(all.get(k));
      }
      parts.add(
          Datasets.generated(
              part.size(),
              k ->
                  new Tensor[] {
                    picture(part.get(k).file, height, width, channels),
                    Tensor.scalar(part.get(k).label)
                  }));
    }
    return Datasets.splits(parts);
  }

  private static List<Path> list(Path folder) {
    try (Stream<Path> files = Files.list(folder)) {
      return files.sorted().toList();
    } catch (IOException e) {
      throw InputFiles.unreadable(folder, e);
    }
  }

  private static Tensor picture(Path file, int height, int width, int channels) {
    BufferedImage found;
    try (InputStream in = Files.newInputStream(file)) {
      found = ImageIO.read(in);
    } catch (IOException e) {
      throw InputFiles.unreadable(file, e);
    } catch (RuntimeException e) { // decoders of the JDK throw what comes on damaged pictures
      throw new MillraceException(Code.DATA_LOSS, file + " is damaged: " + e, e);
    }
    if (found == null) {
      throw new MillraceException(
          Code.DATA_LOSS, file + " is damaged, or not a picture of the kind its name says.");
    }
    BufferedImage image = scaled(found, height, width, channels);
    Raster raster = image.getRaster();
    int[] pixels = raster.getPixels(0, 0, width, height, (int[]) null);
    Tensor t = Tensor.allocate(DType.UINT8, Shape.of(height, width, channels));
    for (int i = 0; i < pixels.length; i++) {
      t.data().set(ValueLayout.JAVA_BYTE, i, (byte) pixels[i]);
    }
    return t;
  }

  private static BufferedImage scaled(BufferedImage image, int height, int width, int channels) {
    int type = channels == 3 ? BufferedImage.TYPE_INT_RGB : BufferedImage.TYPE_BYTE_GRAY;
    BufferedImage to = new BufferedImage(width, height, type);
    Graphics2D g = to.createGraphics();
    g.setRenderingHint(
        RenderingHints.KEY_INTERPOLATION, RenderingHints.VALUE_INTERPOLATION_BILINEAR);
    g.drawImage(image, 0, 0, width, height, null);
    g.dispose();
    return to;
  }
}
