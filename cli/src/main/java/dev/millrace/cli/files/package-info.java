/** Commands that read files: checkpoints, event files and graphs. */
package dev.millrace.cli.files;
