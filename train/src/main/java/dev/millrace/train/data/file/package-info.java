/** Files that data is read from: which they are, how they are compressed and where they are cut. */
package dev.millrace.train.data.file;
