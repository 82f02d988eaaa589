/** A span of W3C Trace Context as text, in its version 00: trace id, span id and flags. Ids of zeros are nobody's. */
export const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
