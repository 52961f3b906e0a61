/**
 * The live page of a job: {@link dev.millrace.dashboard.web.DashboardServer} serves one static page
 * over JSON, and the same figures for Prometheus.
 */
package dev.millrace.dashboard.web;
