import Testing

/// Tests of the program itself, as a process of its own. One at a time: each wants both cores.
@Suite("End to end", .serialized)
enum EndToEnd {}
