/** Training jobs as Kubernetes objects: start with {@link dev.millrace.cli.k8s.Manifests}. */
package dev.millrace.cli.k8s;
