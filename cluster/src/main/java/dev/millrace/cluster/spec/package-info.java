/** Which tasks a cluster has and what a server permits. Reads TF_CONFIG. */
package dev.millrace.cluster.spec;
