/** TensorFlow Serving's REST API over Netty's HTTP codec. */
package dev.millrace.serving.rest;
