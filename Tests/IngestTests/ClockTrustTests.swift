import Clocks
import Ingest
import Testing

@Suite("Trust in the clock")
struct ClockTrustTests {
  @Test("is given to any clock when nothing is on record")
  func empty() {
    #expect(ClockTrust(newestRecord: nil).mayJudge(at: Timestamp(milliseconds: 0)))
  }

  @Test("is withheld from a clock before the newest record, and given for good once it has passed it")
  func wrongClock() {
    let trust = ClockTrust(newestRecord: Timestamp(milliseconds: 1000))
    #expect(!trust.mayJudge(at: Timestamp(milliseconds: 999)))
    #expect(trust.mayJudge(at: Timestamp(milliseconds: 1000)))
    #expect(trust.mayJudge(at: Timestamp(milliseconds: 1)))
  }
}
