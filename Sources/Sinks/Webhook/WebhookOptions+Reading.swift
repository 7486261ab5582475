import Configuration

extension WebhookOptions {
  static let secretsMax = 8
  static let headersMax = 64

  init(from section: Section) {
    self.init(url: "")
    if !section.has("url") { section.fault("url", "is missing; it should be \(ScalarFormat.receiverURL.noun)") }
    section.read("url", into: &url, .receiverURL)
    if isInTheClear { section.warn("url", "is http: whoever is on the way can read the events; use https") }
    secrets = section.list("secret", max: Self.secretsMax, .webhookSecret)?.map(\.value) ?? []
    if !section.hasValue("secret") || section.isEmptyList("secret") {
      section.warn("secret", "is missing: requests are not signed, so that the receiver can't know who sent them")
    }
    headers = Self.headers(section.section("headers"))
    section.readCertificates("ca_file", into: &caFile)
    clientCertificate = Self.clientCertificate(section.section("client_certificate"))
    section.read("max_batch_events", into: &maxBatchEvents, .integer(1...1000))
    section.read("linger", into: &linger, .duration(.zero ... .seconds(3600)))
    section.read("timeout", into: &timeout, .duration(.milliseconds(100) ... .seconds(600)))
    retry.read(section.section("retry"))
    hasUsualMaxBehind = !section.has("max_behind")
  }

  private static func headers(_ section: Section) -> [WebhookHeader] {
    var headers: [WebhookHeader] = []
    for name in section.keys.prefix(headersMax) {
      let value = section.value(name, .webhookHeaderValue)
      if let problem = WebhookHeader.problem(withName: name) {
        section.fault(name, problem)
      } else if headers.contains(where: { $0.name.lowercased() == name.lowercased() }) {
        section.fault(name, "stands twice, in other letters; remove one")
      } else if let value {
        headers.append(WebhookHeader(name: name, value: value))
      }
    }
    if section.keys.count > headersMax {
      section.fault(section.keys[headersMax], "is one header too many; there may be \(headersMax)")
    }
    section.finish()
    return headers
  }

  private static func clientCertificate(_ section: Section) -> WebhookCertificate? {
    var certificate, key: PEMFile?
    section.readCertificates("certificate", into: &certificate)
    section.readKey("key", into: &key)
    section.finish()
    let names = ["certificate", "key"]
    guard names.contains(where: section.hasValue) else { return nil }
    for name in names where !section.hasValue(name) {
      section.fault(name, "is missing; it should be the path of a PEM file, and certificate and key go together")
    }
    guard let certificate, let key else { return nil }
    let pair = WebhookCertificate(certificate: certificate, key: key)
    // (What can't be read is a fault already, and one who only looks for the relay has read nothing.)
    if !certificate.bytes.isEmpty, !key.bytes.isEmpty, let fault = PEMPair(certificate: certificate, key: key).fault {
      section.fault(fault.key, fault.message)
    }
    return pair
  }
}

extension WebhookRetry {
  fileprivate mutating func read(_ section: Section) {
    section.read("initial", into: &initial, .duration(.milliseconds(1) ... .seconds(3600)))
    section.read("max", into: &max, .duration(.milliseconds(1) ... .seconds(86_400)))
    section.read("give_up_after", into: &giveUpAfter, .duration(.milliseconds(100) ... .seconds(365 * 86_400)))
    if section.isSound, initial > max {
      section.fault(section.has("initial") ? "initial" : "max", "initial is longer than max; make one fit the other")
    }
    section.finish()
  }
}

extension ScalarFormat where Value == WebhookSecret {
  static var webhookSecret: ScalarFormat {
    ScalarFormat(noun: WebhookSecret.noun, isPrintable: false) { text throws(Misfit) in
      do throws(WebhookSecret.Misfit) {
        return try WebhookSecret(text)
      } catch {
        throw Misfit(error.problem)
      }
    }
  }
}

extension ScalarFormat where Value == RelayConfiguration.Secret {
  static var webhookHeaderValue: ScalarFormat {
    ScalarFormat(noun: "a header's value of 1 to \(WebhookHeader.valueBytesMax) ASCII characters", isPrintable: false) {
      text throws(Misfit) in
      if let problem = WebhookHeader.problem(withValue: text) { throw Misfit(problem) }
      return RelayConfiguration.Secret(text)
    }
  }
}
