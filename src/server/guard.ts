import type { IncomingMessage } from 'node:http'
import { type Facts, mayActFor } from '../core/index.ts'
import { type Request, type RequestType, routes, type Token, type Who } from '../protocol/index.ts'
import type { Scope } from '../service/index.ts'
import { isFromBrowser, PageRules } from './pages.ts'
import { Refusal } from './refusal.ts'
import { secretIn, secretOffered, Tokens } from './tokens.ts'

/** Who asks, as far as the guard knows. */
export interface Asker {
  /** That was shown; nothing where none is asked for. */
  readonly token?: Token
  /** What a browser GETs changes nothing, as any page can have it do that: it acts for nobody. */
  readonly onlyLooks: boolean
}

/** What a request shows of whom it is from. */
export type Shown = Pick<IncomingMessage, 'headers' | 'socket'>

/** A GET may be a browser's own idea, and an upgrade shows its token where a page can put it. */
export type How = 'call' | 'get' | 'upgrade'

/**
 * Says what the token of whoever asks allows: its namespace, and whether it only reads. Whom it may act for is passed on with
 * the request, and the step decides. Every check throws where the answer is no.
 */
export interface Guard {
  /** Whether anything is answered at all, on whatever path: not to the web pages of others, but perhaps to those who follow their links. */
  admit(shown: Shown, options?: { readonly mayNavigate: boolean }): void
  /** Whom a request is of; admits it too. */
  identify(shown: Shown, how: How): Asker
  /** The token that a request shows, where there is one and it is known. */
  tokenOf(shown: Shown): Token | undefined
  /** What an asker is told of itself. */
  who(asker: Asker): Who
  /** The facts of whoever asks, to be passed on with what it asks. */
  check(asker: Asker, asked: Request): Facts
  checkScope(asker: Asker, wanted: { scope: Scope; namespace?: string | undefined }): Facts
  /** On the classic paths: the namespace is the same for all. */
  checkClassic(asker: Asker, wanted: { namespace: string; node?: string | undefined; reads?: boolean }): Facts
}

interface GuardOptions {
  readonly tokens?: readonly Token[] | undefined
  /** By which a server without tokens may be called beside IP addresses and `localhost`. */
  readonly allowedHosts?: readonly string[] | undefined
}

const EVERYTHING: Facts = {}
const NOBODY: Facts = { actsFor: [] }

/** Without tokens everybody may do everything. The command line allows that on loopback only, or when told to. */
export function newGuard({ tokens, allowedHosts = [] }: GuardOptions): Guard {
  return tokens ? new TokenGuard(new Tokens(tokens)) : openGuard(new PageRules(allowedHosts))
}

function openGuard(pages: PageRules): Guard {
  const anybody: Asker = { onlyLooks: false }
  const onlooker: Asker = { onlyLooks: true }
  const factsOf = ({ onlyLooks }: Asker) => (onlyLooks ? NOBODY : EVERYTHING)
  return {
    admit: ({ headers }, options) => pages.check(headers, options),
    identify({ headers }, how) {
      pages.check(headers)
      return how === 'get' && isFromBrowser(headers) ? onlooker : anybody
    },
    tokenOf: () => undefined,
    who: () => ({ status: 'who', role: 'anybody' }),
    check: factsOf,
    checkScope: factsOf,
    checkClassic: factsOf,
  }
}

class TokenGuard implements Guard {
  readonly #tokens: Tokens
  readonly #pages = new PageRules()

  constructor(tokens: Tokens) {
    this.#tokens = tokens
  }

  admit({ headers }: Shown, options?: { readonly mayNavigate: boolean }): void {
    this.#pages.check(headers, options)
  }

  identify({ headers }: Shown, how: How): Asker {
    this.#pages.check(headers)
    const secret = secretIn(headers.authorization) ?? (how === 'upgrade' ? secretOffered(headers) : undefined)
    if (secret === undefined) throw new Refusal('unauthorised')
    const token = this.#tokens.find(secret)
    if (!token) throw new UnknownToken()
    return { token, onlyLooks: how === 'get' && isFromBrowser(headers) }
  }

  tokenOf({ headers }: Shown): Token | undefined {
    const secret = secretIn(headers.authorization)
    return secret === undefined ? undefined : this.#tokens.find(secret)
  }

  who(asker: Asker): Who {
    const { role, nodes, namespace } = known(asker)
    return { status: 'who', role, ...(nodes && { nodes }), ...(namespace !== undefined && { namespace }) }
  }

  check(asker: Asker, asked: Request): Facts {
    const token = known(asker)
    if (token.namespace !== undefined && !isWithin(token.namespace, asked))
      throw forbidden(namespaceRule(token.namespace))
    const facts = factsOf(token)
    if (token.role === 'admin' || isRead(asked.type)) return facts
    if (token.role === 'observe') throw forbidden(READS_ONLY)
    if (asked.type === 'revoke' || asked.type === 'apply-policy') throw forbidden('This takes an admin token.')
    // The step says so too; here it is known before anything of a batch is done.
    if ('node' in asked && asked.node !== undefined && !mayActFor(facts, asked.node)) throw forbidden(NODE_RULE)
    return facts
  }

  checkScope(asker: Asker, { scope, namespace }: { scope: Scope; namespace?: string | undefined }): Facts {
    const token = known(asker)
    if (token.namespace === undefined || scope.of === 'session') return factsBy(asker)
    const wanted = scope.of === 'all' ? namespace : scope.namespace
    if (wanted !== token.namespace) throw forbidden(namespaceRule(token.namespace))
    return factsBy(asker)
  }

  checkClassic(
    asker: Asker,
    { namespace, node, reads = false }: { namespace: string; node?: string | undefined; reads?: boolean },
  ): Facts {
    const token = known(asker)
    if ((token.namespace ?? namespace) !== namespace) throw forbidden(namespaceRule(token.namespace ?? ''))
    if (token.role === 'observe' && !reads) throw forbidden(READS_ONLY)
    if (token.role === 'node' && node !== undefined && !mayActFor(factsOf(token), node)) throw forbidden(NODE_RULE)
    return factsBy(asker)
  }
}

/** A token came that is none of the server's. */
export class UnknownToken extends Refusal {
  constructor() {
    super('unauthorised', 'The server does not know this token; send one of those that it was given.')
  }
}

const NODE_RULE = 'The token does not act for this node.'
const READS_ONLY = 'An observe token only reads.'

function known({ token }: Asker): Token {
  if (!token) throw new Refusal('unauthorised')
  return token
}

/** One that only reads acts for nobody. */
function factsOf({ role, nodes = [] }: Token): Facts {
  return role === 'admin' ? EVERYTHING : { actsFor: nodes }
}

/** The same, of one that may come from a browser. */
function factsBy(asker: Asker): Facts {
  return asker.onlyLooks ? NOBODY : factsOf(known(asker))
}

function namespaceRule(namespace: string): string {
  return `The token is for one namespace; name it: ${JSON.stringify(namespace)}.`
}

function forbidden(message: string): Refusal {
  return new Refusal('forbidden', message)
}

function isRead(type: RequestType): boolean {
  return routes[type].method === 'GET'
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
