package dev.millrace.train.sync;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.train.variable.GraphVariable;

/**
 * The nodes of synchronous training beside the train op.
 *
 * @param localInit sets the local step to the global one
 * @param chiefInit prepares accumulators and the count of those who left
 * @param initTokens hands out the tokens for the first step
 * @param sync applies one average and hands out tokens
 * @param cancel closes the token queue, so that nobody waits any more
 * @param staleness how far the global step is ahead of the local one
 * @param leave takes this worker out
 */
record SyncNodes(
    GraphVariable globalStep,
    GraphVariable localStep,
    Node localInit,
    Node chiefInit,
    Node initTokens,
    Node sync,
    Node cancel,
    Output staleness,
    Node leave) {}
