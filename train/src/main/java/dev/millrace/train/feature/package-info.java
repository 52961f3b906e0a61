/**
 * The features of a model in one place: {@link dev.millrace.train.feature.FeatureSpec} says which
 * columns are read, adds what is made of them to the graph, and what a server is given. The
 * transforms are TensorFlow's ops in the graph, so an exported model has them.
 */
package dev.millrace.train.feature;
