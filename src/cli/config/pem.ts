import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { UsageError } from '../exit.ts'
import { readText } from './read-text.ts'

interface PemFiles {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

/** The text of these files, once TLS has taken them: what is wrong with them is said now, not when somebody connects. */
export function readPem({ ca, cert, key }: PemFiles): { ca?: string; cert?: string; key?: string } {
  const pem = {
    ...(ca !== undefined && { ca: readText(ca) }),
    ...(cert !== undefined && { cert: readText(cert) }),
    ...(key !== undefined && { key: readText(key) }),
  }
  try {
    createSecureContext(pem)
    // What is no certificate would be taken for an authority that vouches for nobody.
    if (pem.ca !== undefined) new X509Certificate(pem.ca)
  } catch (cause) {
    const files = [cert, key, ca].filter((path) => path !== undefined).join(', ')
    throw new UsageError(`TLS cannot use ${files}: ${(cause as Error).message}; name PEM files that belong together`, {
      cause,
    })
  }
  return pem
}
