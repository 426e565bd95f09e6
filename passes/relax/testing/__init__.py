"""Entry points into passes for tests, under the names of TVM's `relax.testing`."""
