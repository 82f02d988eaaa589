import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

const namesOf = new WeakMap<Socket, readonly string[]>()

/**
 * What the certificate that a client has shown is called in the entries of a server, the most exact name first; nothing where
 * there is none, or the server has not found it good.
 */
export function certificateNames(socket: Socket): readonly string[] | undefined {
  const { authorized, getPeerX509Certificate } = socket as Partial<TLSSocket>
  if (!authorized || !getPeerX509Certificate) return undefined
  // The same for as long as the connection lives, and to read it takes longer than most requests.
  let names = namesOf.get(socket)
  if (!names) {
    const certificate = getPeerX509Certificate.call(socket as TLSSocket)
    if (!certificate) return undefined
    names = namesIn(certificate)
    namesOf.set(socket, names)
  }
  return names
}

export function namesIn(certificate: X509Certificate): readonly string[] {
  const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase()
  const { CN: commonName } = certificate.toLegacyObject().subject as { readonly CN?: unknown }
  return [
    `sha256:${fingerprint}`,
    ...alternativeNames(certificate.subjectAltName ?? ''),
    // With several, it is not clear which one is meant.
    ...(typeof commonName === 'string' ? [`CN=${commonName}`] : []),
  ]
}

/** One name of a list, where what could be mistaken for the next one is written as a JSON string. */
const NAME = /(?:^|, )([^:,"]+):([^,"]*|"(?:[^"\\]|\\.)*")(?=, |$)/y

/** URIs first. Nothing at all where the list is not as it should be. */
function alternativeNames(list: string): readonly string[] {
  const found: { readonly kind: string; readonly name: string }[] = []
  NAME.lastIndex = 0
  for (let at = 0; at < list.length; at = NAME.lastIndex) {
    const match = NAME.exec(list)
    if (!match) return []
    const [, kind = '', text = ''] = match
    found.push({ kind, name: text.startsWith('"') ? JSON.parse(text) : text })
  }
  const of = (wanted: string) => found.filter(({ kind }) => kind === wanted).map(({ name }) => name)
  return [...of('URI').map((name) => `URI:${name}`), ...of('DNS').map((name) => `DNS:${name.toLowerCase()}`)]
}
