// simdjson is C++: only CSimdjson includes it, behind a C header.
