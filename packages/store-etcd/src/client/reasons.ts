/** Why there is no connection. */
export interface Reason {
  readonly text: string
  /** It stays so until somebody mends it: it is not that nobody is there. */
  readonly isLasting: boolean
}

const TRUST = 'trust its authority with ca=FILE in the URL'
const NOT_TRUSTED = `its certificate is of an authority that is not trusted here: ${TRUST}`
const CLIENT_CERTIFICATE = 'it wants a client certificate that it trusts: look at cert=FILE and key=FILE in the URL'
const NO_TLS = 'it does not speak TLS: leave ca=, cert=, key= and tls= out of the URL'

/** By a part of what Node and OpenSSL say. */
const LASTING: readonly (readonly [part: string, text: string])[] = [
  ['self-signed certificate', NOT_TRUSTED],
  ['self signed certificate', NOT_TRUSTED],
  ['unable to verify the first certificate', NOT_TRUSTED],
  ['unable to get local issuer', NOT_TRUSTED],
  ['unable to get issuer', NOT_TRUSTED],
  ['certificate has expired', 'its certificate has expired: renew it there, or set the clock of this machine right'],
  ['certificate is not yet valid', 'its certificate is not valid yet: set the clock of this machine right, or wait'],
  ["does not match certificate's altnames", 'its certificate is for another name: write one that it is for in the URL'],
  ['bad certificate', CLIENT_CERTIFICATE],
  ['certificate required', CLIENT_CERTIFICATE],
  ['unknown ca', CLIENT_CERTIFICATE],
  ['key values mismatch', 'key= is not the key of cert='],
  ['wrong version number', NO_TLS],
  ['packet length too long', NO_TLS],
  ['Protocol error', 'whoever is there is not etcd'],
]

/** These may also be of somebody who is just going away. */
const PASSING: readonly (readonly [part: string, text: string])[] = [
  ['Failed to connect', 'it hangs up at once: if it speaks TLS, write ca=FILE or tls=true into the URL'],
  ['before secure TLS connection was established', `it hangs up at once: maybe ${NO_TLS}`],
  ['Name resolution failed', 'there is no such name'],
]

/** Why there is no connection, from what Node says, or grpc-js of a call that found none. */
export function reasonOf(said: string): Reason {
  const lasting = LASTING.find(([part]) => said.includes(part))
  if (lasting) return { text: lasting[1], isLasting: true }
  const passing = PASSING.find(([part]) => said.includes(part))
  return { text: passing?.[1] ?? shortened(said), isLasting: false }
}

/** `No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: `: the code says it all. */
function shortened(said: string): string {
  const [, last = said] = /Last error: (?:Error: )?(.*?)(?:\. Resolution note:.*)?$/.exec(said) ?? []
  const [code] = /\bE[A-Z]{4,}\b/.exec(last) ?? []
  return code ?? last
}
