package dev.millrace.train.sync;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.train.variable.GraphVariable;

/**
 * The nodes of synchronous training beside the train op.
 *
 * @param localInit sets the local step to the global one
 * @param flush empties the accumulators
 * @param chiefInit empties them and sets them, and the local step, to the global step
 * @param startTokens frees all who may be waiting for tokens of an earlier generation
 * @param train adds this worker's gradients and takes a token
 * @param report what it learned with that token
 * @param takeAgain takes another token instead, and reports
 * @param returned the token that {@code giveBack} puts into the queue again
 * @param sync applies one average and hands out tokens
 * @param leftBySync how many workers have left, by the end of {@code sync}
 * @param left how many have left now
 * @param addLeft counts one more who has left
 * @param cancel closes the token queue, so that nobody waits any more
 * @param staleness how far the global step is ahead of the local one
 * @param leave takes this worker out
 */
record SyncNodes(
    GraphVariable localStep,
    Generation generation,
    Node localInit,
    Node flush,
    Node chiefInit,
    Node startTokens,
    Node train,
    Output report,
    Again takeAgain,
    Output returned,
    Node giveBack,
    Node sync,
    Output leftBySync,
    Output left,
    Node addLeft,
    Node cancel,
    Output staleness,
    Node leave) {

  /** A token taken in place of another: the node that takes it, and what was learned with it. */
  record Again(Node take, Output report) {}
}
