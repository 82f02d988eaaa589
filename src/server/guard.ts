import { type Facts, mayActFor } from '../core/index.ts'
import { type Request, type RequestType, routes } from '../protocol/index.ts'
import type { Scope } from '../service/index.ts'
import { Refusal } from './refusal.ts'
import { secretIn, type Token, Tokens } from './tokens.ts'

/** Who asks, as far as the guard knows: the token that was shown. */
export type Asker = Token | undefined

/**
 * Says what the token of whoever asks allows: its namespace, and whether it only reads. Whom it may act for is passed on with
 * the request, and the step decides. Every check throws where the answer is no.
 */
export interface Guard {
  /** By its `Authorization` header. */
  identify(authorization: string | undefined): Asker
  /** The facts of whoever asks, to be passed on with what it asks. */
  check(asker: Asker, asked: Request): Facts
  checkScope(asker: Asker, wanted: { scope: Scope; namespace?: string | undefined }): Facts
  /** On the classic paths: the namespace is the same for all. */
  checkClassic(asker: Asker, wanted: { namespace: string; node?: string | undefined; reads?: boolean }): Facts
}

const EVERYTHING: Facts = {}

/** Without tokens everybody may do everything. The command line allows that on loopback only, or when told to. */
export function newGuard(tokens: readonly Token[] | undefined): Guard {
  const everything = () => EVERYTHING
  if (!tokens || tokens.length === 0) {
    return { identify: () => undefined, check: everything, checkScope: everything, checkClassic: everything }
  }
  return new TokenGuard(new Tokens(tokens))
}

class TokenGuard implements Guard {
  readonly #tokens: Tokens

  constructor(tokens: Tokens) {
    this.#tokens = tokens
  }

  identify(authorization: string | undefined): Asker {
    const secret = secretIn(authorization)
    if (secret === undefined) throw new Refusal('unauthorised')
    const token = this.#tokens.find(secret)
    if (!token) throw new Refusal('unauthorised', UNKNOWN_TOKEN)
    return token
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
    if (token.namespace === undefined || scope.of === 'session') return factsOf(token)
    const wanted = scope.of === 'all' ? namespace : scope.namespace
    if (wanted !== token.namespace) throw forbidden(namespaceRule(token.namespace))
    return factsOf(token)
  }

  checkClassic(
    asker: Asker,
    { namespace, node, reads = false }: { namespace: string; node?: string | undefined; reads?: boolean },
  ): Facts {
    const token = known(asker)
    if ((token.namespace ?? namespace) !== namespace) throw forbidden(namespaceRule(token.namespace ?? ''))
    if (token.role === 'observe' && !reads) throw forbidden(READS_ONLY)
    const facts = factsOf(token)
    if (token.role === 'node' && node !== undefined && !mayActFor(facts, node)) throw forbidden(NODE_RULE)
    return facts
  }
}

const UNKNOWN_TOKEN = 'The server does not know this token; send one of those that it was given.'
const NODE_RULE = 'The token does not act for this node.'
const READS_ONLY = 'An observe token only reads.'

function known(asker: Asker): Token {
  if (!asker) throw new Refusal('unauthorised')
  return asker
}

/** One that only reads acts for nobody. */
function factsOf({ role, nodes = [] }: Token): Facts {
  return role === 'admin' ? EVERYTHING : { actsFor: nodes }
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
      return true
    case 'apply-policy':
      return false
    default:
      return asked.namespace === namespace
  }
}
