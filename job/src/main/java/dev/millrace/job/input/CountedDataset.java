package dev.millrace.job.input;

import dev.millrace.train.data.Dataset;

/** A dataset that knows how many elements it has, so that no job has to read it to count them. */
public interface CountedDataset extends Dataset {
  /** The number of elements of one epoch; at least 1. */
  long size();
}
