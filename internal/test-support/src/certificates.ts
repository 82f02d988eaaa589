import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

let issued = 0

/** PEM text. */
export interface Certificate {
  readonly key: string
  readonly cert: string
}

interface CertificateOptions {
  /** What it is for. Default: 127.0.0.1. */
  readonly for?: string
  /** Whose it is: `/CN=node-a`. Default: a name that says nothing. */
  readonly subject?: string
  /** From now; less than nothing is the past. */
  readonly days?: number
  /** Who signs it. Default: itself. */
  readonly by?: Certificate
}

export function newCertificate(options: CertificateOptions = {}): Certificate {
  const { for: name = 'IP:127.0.0.1', subject, days = 2, by } = options
  return issue({ extension: `subjectAltName=${name}`, subject, days, by })
}

/** One that signs others. */
export function newAuthority(): Certificate {
  return issue({ extension: 'basicConstraints=critical,CA:TRUE', days: 2 })
}

function issue({
  extension,
  days,
  by,
  subject = `/CN=${by ? 'server' : 'itself'}`,
}: {
  extension: string
  days: number
  subject?: string | undefined
  by?: Certificate | undefined
}): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'baton-tls-'))
  const at = (name: string, text?: string) => {
    if (text !== undefined) writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' })
  try {
    const [key, request, cert] = [at('key.pem'), at('request.pem'), at('cert.pem')]
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    openssl('req', '-new', ...kind, '-keyout', key, '-out', request, '-subj', subject)
    const signer = by ? ['-CA', at('ca.pem', by.cert), '-CAkey', at('ca-key.pem', by.key)] : ['-signkey', key]
    const serial = by ? ['-set_serial', `${++issued}`] : []
    const file = ['-extfile', at('extensions', `${extension}\n`)]
    openssl('x509', '-req', '-in', request, '-out', cert, '-days', `${days}`, ...signer, ...serial, ...file)
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
