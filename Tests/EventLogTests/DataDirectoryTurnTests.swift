import Foundation
import Glibc
import TestSupport
import Testing

@testable import EventLog

@Suite("The turn at a data directory")
struct DataDirectoryTurnTests {
  let directory = TemporaryDirectory()

  @Test("belongs to one relay at a time")
  func locked() throws {
    let first = try DataDirectory.open(directory.path)
    #expect(DataDirectory.isInUse(directory.path))
    #expect {
      _ = try DataDirectory.open(directory.path)
    } throws: { error in
      "\(error)".contains("another event-relay uses the data directory \(directory.path)")
    }
    first.close()
    #expect(!DataDirectory.isInUse(directory.path))
    #expect(try DataDirectory.open(directory.path).instanceID == first.instanceID)
  }

  @Test("is got by a relay that starts while a command looks at it for a moment")
  func lookedAt() throws {
    try DataDirectory.open(directory.path).close()
    let descriptor = open("\(directory.path)/lock", O_RDONLY)
    #expect(flock(descriptor, LOCK_SH | LOCK_NB) == 0)
    let ended = DispatchSemaphore(value: 0)
    let opened = DispatchSemaphore(value: 0)
    let path = directory.path
    Thread {
      if let directory = try? DataDirectory.open(path) {
        directory.close()
        opened.signal()
      }
      ended.signal()
    }.start()
    close(descriptor)
    ended.wait()
    #expect(opened.wait(timeout: .now()) == .success)
  }
}
