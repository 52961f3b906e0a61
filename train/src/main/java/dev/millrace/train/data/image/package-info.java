/** Pictures as training data: {@link dev.millrace.train.data.image.ImageFolders} reads them. */
package dev.millrace.train.data.image;
