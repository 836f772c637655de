"""The times on the pages for users of libraries that `benchmarks` does not know: CasADi and TensorFlow.js."""
