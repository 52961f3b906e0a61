package dev.millrace.train.layers;

/** What happens at the borders of an image. */
public enum Padding {
  /** Zeros are added so that a stride of 1 keeps the size. */
  SAME,
  /** Only windows that lie within the image count. */
  VALID
}
