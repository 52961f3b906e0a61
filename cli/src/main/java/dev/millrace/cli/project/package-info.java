/** {@code millrace new}: a project for a user's own model, and Millrace's jars for its build. */
package dev.millrace.cli.project;
