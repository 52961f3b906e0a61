/**
 * SavedModels, TensorFlow's and Millrace's: what their files say, and how they become a session.
 */
package dev.millrace.serving.model;
