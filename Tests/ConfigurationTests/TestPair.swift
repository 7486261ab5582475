/// A certificate that signs itself, its key, and another key; made for tests, they open nothing.
enum TestPair {
  static let certificate = """
    -----BEGIN CERTIFICATE-----
    MIIBgDCCASegAwIBAgIUMzU1pF/wKqBKj5uCMLFfPv1C1N8wCgYIKoZIzj0EAwIw
    FTETMBEGA1UEAwwKcmVsYXkudGVzdDAgFw0yNjExMzAxMzIwMTlaGA8yMTI2MTEw
    NjEzMjAxOVowFTETMBEGA1UEAwwKcmVsYXkudGVzdDBZMBMGByqGSM49AgEGCCqG
    SM49AwEHA0IABAb9yBqA2PAjC830z1Bm6SODq8BptG/k95dy+YYUUqDrff/7O1s5
    70chVacyypmMNrvaNZ/2sXTN/70U3dN0lJGjUzBRMB0GA1UdDgQWBBSYjYnrdBZ/
    n/A6bULyt76WIytAZzAfBgNVHSMEGDAWgBSYjYnrdBZ/n/A6bULyt76WIytAZzAP
    BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIE5qmyjmX416pwsyekPc
    jbGhIFqtSc7jfU1xFDOKY3l9AiBMkYyajGSElfzNidO426LLprs4QViElLb6uC9t
    5IPzEQ==
    -----END CERTIFICATE-----
    """

  static let key = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2G5jkW6TLL6NYfXy
    UYq+CzE/RQ9DHHbfdZvOxC3LM0WhRANCAAQG/cgagNjwIwvN9M9QZukjg6vAabRv
    5PeXcvmGFFKg633/+ztbOe9HIVWnMsqZjDa72jWf9rF0zf+9FN3TdJSR
    -----END PRIVATE KEY-----
    """

  static let otherKey = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg86bjyUOuCchwtH4V
    LiWQog9ylMihKik1QEf4toU3GD+hRANCAATYq4ReDvS5fXMppMc3q3DYlfb+K/L3
    D/1piQG0X+CAH/oxEDNQuHhYAonjepKTtqAXWYcYq2KGg1Qg4r1PqkXh
    -----END PRIVATE KEY-----
    """
}
