import { UnavailableError } from '../errors.ts'

const TRUST = 'trust its authority with `tls.ca` (at a command line: --tls-ca FILE, or BATON_CA)'

/** What is wrong with a certificate and what to do about it, by Node's error code. */
const certificateErrors: Readonly<Record<string, readonly [what: string, todo: string]>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: ['its certificate is self-signed, and not trusted here', TRUST],
  SELF_SIGNED_CERT_IN_CHAIN: ['its certificate is of an authority that is not trusted here', TRUST],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['its certificate is of an authority that is not known here', TRUST],
  UNABLE_TO_GET_ISSUER_CERT: ['its certificate is of an authority that is not known here', TRUST],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['its certificate is of an authority that is not known here', TRUST],
  CERT_UNTRUSTED: ['its certificate is not trusted here', TRUST],
  CERT_SIGNATURE_FAILURE: ['its certificate is not signed by the authority that it names', TRUST],
  CERT_HAS_EXPIRED: ['its certificate has expired', 'renew it there, or set the clock of this machine right'],
  CERT_NOT_YET_VALID: ['its certificate is not valid yet', 'set the clock of this machine right, or wait'],
  CERT_REVOKED: ['its certificate was revoked', 'give the server a new one'],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'its certificate is for another name',
    'use a name that it is for, or give the server a certificate for this one',
  ],
}

/** Why a connection failed, in words. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof UnavailableError) return error.message
  const { code } = error as { code?: unknown }
  if (typeof code !== 'string') return error.message
  if (Object.hasOwn(certificateErrors, code)) {
    const [what, todo] = certificateErrors[code]!
    return `${what} (${code}); ${todo}`
  }
  return error.message.includes(code) ? error.message : `${code}: ${error.message}`
}
