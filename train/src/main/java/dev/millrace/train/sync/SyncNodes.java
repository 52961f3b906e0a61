package dev.millrace.train.sync;

import dev.millrace.graph.Node;
import dev.millrace.graph.Output;
import dev.millrace.train.variable.GraphVariable;

/**
 * The nodes of synchronous training beside the train op.
 *
 * @param localInit sets the local step to the global one
 * @param chiefInit prepares the accumulators, and notes that there is a chief
 * @param chiefsBefore how many chiefs the token queue has had
 * @param initTokens hands out the tokens for the first step
 * @param renewTokens hands out tokens to all who may be waiting for those of a lost chief
 * @param train adds this worker's gradients and takes a token
 * @param sync applies one average and hands out tokens
 * @param cancel closes the token queue, so that nobody waits any more
 * @param staleness how far the global step is ahead of the local one
 * @param giveBack puts the token back that was taken last
 * @param takeAgain takes another and gives its step
 * @param leave takes this worker out
 */
record SyncNodes(
    GraphVariable globalStep,
    GraphVariable localStep,
    Node localInit,
    Node chiefInit,
    Output chiefsBefore,
    Node initTokens,
    Node renewTokens,
    Node train,
    Node sync,
    Node cancel,
    Output staleness,
    Node giveBack,
    Output takeAgain,
    Node leave) {}
