import { type Facts, mayActFor } from '@baton-lock/core'
import type { NamedToken, Request, Who } from '@baton-lock/protocol'
import type { Scope } from '@baton-lock/service'
import { Refusal } from '../refusal.ts'
import { certificateNames } from './client-certificate.ts'
import type { Asker, Guard, How, Shown } from './guard.ts'
import { isFromBrowser, PageRules } from './origin-policy.ts'
import { type Access, requestAccess } from './roles.ts'
import { secretIn, secretOffered, type Tokens } from './tokens.ts'

/** The guard of a server that has tokens. */
export class TokenGuard implements Guard {
  readonly #tokens: Tokens
  readonly #wallMs: () => number
  readonly #pages = new PageRules()

  constructor(tokens: Tokens, wallMs: () => number) {
    this.#tokens = tokens
    this.#wallMs = wallMs
  }

  admit({ headers }: Shown, options?: { readonly mayNavigate?: boolean | undefined }): void {
    this.#pages.check(headers, options)
  }

  identify(shown: Shown, how: How): Asker {
    const { headers, socket } = shown
    this.#pages.check(headers)
    const secret = secretOf(shown, how)
    const token = secret === undefined ? this.#ofCertificate(shown) : this.#tokens.find(secret)
    if (!token) throw secret === undefined ? this.#withoutToken(shown) : new UnknownToken()
    this.#checkTime(token)
    return { token, onlyLooks: how === 'get' && isFromBrowser(headers), socket }
  }

  whyOver(token: NamedToken): string | undefined {
    if (!this.#tokens.has(token)) return NOT_KNOWN
    return this.#isExpired(token) ? expiredText(token) : undefined
  }

  enter(asker: Asker, { roles, isOfAll }: Access): void {
    const { role, namespace } = this.#known(asker)
    if (roles && !roles.includes(role))
      throw forbidden(role === 'observe' ? READS_ONLY : `This takes an ${roles.join(' or ')} token.`)
    if (isOfAll && namespace !== undefined) throw forbidden(ALL_NAMESPACES)
  }

  who(asker: Asker): Who {
    const { role, name, nodes, namespace, expires } = this.#known(asker)
    return {
      status: 'who',
      role,
      name,
      ...(nodes && { nodes }),
      ...(namespace !== undefined && { namespace }),
      ...(expires && { expiresAtMs: expires.getTime() }),
    }
  }

  check(asker: Asker, asked: Request): Facts {
    this.enter(asker, requestAccess[asked.type])
    const token = asker.token!
    if (token.namespace !== undefined && !isWithin(token.namespace, asked))
      throw forbidden(namespaceRule(token.namespace))
    const facts = factsOf(token)
    // The step says so too; here it is known before anything of a batch is done.
    if (token.role === 'node' && acts(asked) && !mayActFor(facts, asked.node)) throw notItsNode(token, asked.node)
    return facts
  }

  checkScope(asker: Asker, { scope, namespace }: { scope: Scope; namespace?: string | undefined }): Facts {
    const token = this.#known(asker)
    if (token.namespace === undefined || scope.of === 'session') return factsBy(asker, token)
    const wanted = scope.of === 'all' ? namespace : scope.namespace
    if (wanted !== token.namespace) throw forbidden(namespaceRule(token.namespace))
    return factsBy(asker, token)
  }

  checkClassic(asker: Asker, { namespace, node }: { namespace: string; node?: string | undefined }): Facts {
    const token = this.#known(asker)
    if ((token.namespace ?? namespace) !== namespace) throw forbidden(namespaceRule(token.namespace ?? ''))
    if (token.role === 'node' && node !== undefined && !mayActFor(factsOf(token), node)) throw notItsNode(token, node)
    return factsBy(asker, token)
  }

  #ofCertificate({ socket }: Shown): NamedToken | undefined {
    const names = this.#tokens.haveCertificates ? certificateNames(socket) : undefined
    return names && this.#tokens.ofCertificate(names)
  }

  #withoutToken({ socket }: Shown): Refusal {
    const isShown = this.#tokens.haveCertificates && certificateNames(socket) !== undefined
    return new Refusal('unauthorised', isShown ? UNKNOWN_CERTIFICATE : undefined)
  }

  /** That is still good: whoever was let in may have come before it was removed, or had expired. */
  #known({ token }: Asker): NamedToken {
    if (!token) throw new Refusal('unauthorised')
    if (!this.#tokens.has(token)) throw new UnknownToken()
    this.#checkTime(token)
    return token
  }

  #checkTime(token: NamedToken): void {
    if (this.#isExpired(token)) throw new Refusal('unauthorised', expiredText(token))
  }

  #isExpired({ expires }: NamedToken): boolean {
    return expires !== undefined && this.#wallMs() >= expires.getTime()
  }
}

/** A token came that is none of the server's. */
export class UnknownToken extends Refusal {
  constructor() {
    super('unauthorised', NOT_KNOWN)
  }
}

const NOT_KNOWN = 'The server does not know this token; send one of those that it was given.'
const UNKNOWN_CERTIFICATE =
  'The server has no entry for this certificate; send a token, or have one written: `certificate` in its [[tokens]].'
const ALL_NAMESPACES = 'This tells of all namespaces, and the token is for one.'
const READS_ONLY = 'An observe token only reads.'

function expiredText({ expires }: NamedToken): string {
  return `The token has expired, on ${expires?.toISOString()}; send one that is good.`
}

function secretOf({ headers }: Shown, how: How): string | undefined {
  return secretIn(headers.authorization) ?? (how === 'upgrade' ? secretOffered(headers) : undefined)
}

const EVERYTHING: Facts = {}
const NOBODY: Facts = { actsFor: [] }

/** One that only reads acts for nobody. */
function factsOf({ role, nodes = [] }: NamedToken): Facts {
  return role === 'admin' ? EVERYTHING : { actsFor: nodes }
}

/** The same, of one that may come from a browser. */
function factsBy({ onlyLooks }: Asker, token: NamedToken): Facts {
  return onlyLooks ? NOBODY : factsOf(token)
}

function namespaceRule(namespace: string): string {
  return `The token is for one namespace; name it: ${JSON.stringify(namespace)}.`
}

function forbidden(message: string): Refusal {
  return new Refusal('forbidden', message)
}

/** A token may have thousands of nodes. */
const NODES_NAMED = 10

function notItsNode({ nodes = [] }: NamedToken, node: string): Refusal {
  const named = nodes.slice(0, NODES_NAMED).map((one) => JSON.stringify(one))
  const more = nodes.length > NODES_NAMED ? ` and ${nodes.length - NODES_NAMED} more` : ''
  return forbidden(`The token does not act for ${JSON.stringify(node)}, but for ${named.join(', ')}${more}.`)
}

/** Whether the node that it names is one that it acts for, and not one that it looks for. */
function acts(asked: Request): asked is Request & { readonly node: string } {
  return 'node' in asked && asked.node !== undefined && asked.type !== 'list-resources'
}

/** Sessions belong to no namespace, and everybody may read the policy; only who may change all of it applies one. */
function isWithin(namespace: string, asked: Request): boolean {
  switch (asked.type) {
    case 'open-session':
    case 'renew-session':
    case 'close-session':
    case 'list-places':
    case 'get-policy':
    case 'get-who':
      return true
    case 'apply-policy':
      return false
    default:
      return asked.namespace === namespace
  }
}
