import Testing

@testable import EventsAPI

@Test func `the spec's full example is accepted`() throws {
  let reading = read(events: [EventText().text])
  #expect(reading.error == nil)
  #expect(reading.rejected == [])
  let event = try #require(reading.accepted.first)
  #expect(reading.texts == [EventText().text])
  #expect(event.eventID == "0b6f6a3e-3c3e-4d8a-8f6e-1f9b8a2c7d10")
  #expect(event.occurredAt.description == "2026-10-23T12:04:31.512Z")
}
