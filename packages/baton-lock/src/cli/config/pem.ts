import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { UsageError } from '../exit.ts'
import { readText } from '../values.ts'

interface PemFiles {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

/** Reads these files and checks that TLS accepts them, so that an error shows now and not at the first connection. */
export function readPem({ ca, cert, key }: PemFiles): { ca?: string; cert?: string; key?: string } {
  const pem = {
    ...(ca !== undefined && { ca: readText(ca) }),
    ...(cert !== undefined && { cert: readText(cert) }),
    ...(key !== undefined && { key: readText(key) }),
  }
  try {
    createSecureContext(pem)
    // TLS would accept a CA file without a certificate, and then trust nobody.
    if (pem.ca !== undefined) new X509Certificate(pem.ca)
  } catch (cause) {
    const files = [cert, key, ca].filter((path) => path !== undefined).join(', ')
    throw new UsageError(`TLS cannot use ${files}: ${(cause as Error).message}; name PEM files that belong together`, {
      cause,
    })
  }
  return pem
}
