import JSON

/// An answer with the API's error object: `{"code":…,"message":…}`.
public struct APIError: Sendable, Equatable, Error {
  public var status: Int
  public var code: String
  public var message: String

  public init(status: Int, code: String, message: String) {
    self.status = status
    self.code = code
    self.message = message
  }

  /// The answer's body.
  public var body: [UInt8] {
    JSONValue.object([.init("code", .string(code)), .init("message", .string(message))]).utf8
  }

  public static func invalidBody(_ message: String) -> APIError {
    APIError(status: 400, code: "invalid_body", message: message)
  }
  public static func invalidWriteKey(_ message: String) -> APIError {
    APIError(status: 401, code: "invalid_write_key", message: message)
  }
  public static func quotaExceeded(_ message: String) -> APIError {
    APIError(status: 403, code: "quota_exceeded", message: message)
  }
  public static func notFound(_ message: String) -> APIError {
    APIError(status: 404, code: "not_found", message: message)
  }
  public static func methodNotAllowed(_ message: String) -> APIError {
    APIError(status: 405, code: "method_not_allowed", message: message)
  }
  public static let payloadTooLarge = APIError(
    status: 413, code: "payload_too_large", message: "The body is over 1048576 bytes; send smaller batches.")
  public static func payloadTooLarge(bytesMax: Int) -> APIError {
    APIError(status: 413, code: "payload_too_large", message: "The body is over \(bytesMax) bytes; send less at once.")
  }
  public static func unsupportedMediaType(_ message: String) -> APIError {
    APIError(status: 415, code: "unsupported_media_type", message: message)
  }
  public static func rateLimited(_ message: String) -> APIError {
    APIError(status: 429, code: "rate_limited", message: message)
  }
  public static func serverError(_ message: String, status: Int = 503) -> APIError {
    APIError(status: status, code: "server_error", message: message)
  }
}
