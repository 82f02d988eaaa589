import type { FastifyRequest } from 'fastify'
import { type Request, type RequestType, routes } from '../protocol/index.ts'
import type { Scope, Service } from '../service/index.ts'
import { Refusal } from './refusal.ts'
import { type Token, Tokens } from './tokens.ts'

/** Says who may ask what. Every method throws where the answer is no. */
export interface Guard {
  /** Knows who asks from then on. */
  identify(request: FastifyRequest): void
  check(request: FastifyRequest, asked: Request): Promise<void>
  checkScope(request: FastifyRequest, wanted: { scope: Scope; namespace?: string | undefined }): void
  /** On the classic paths, where the node is its own owner. */
  checkNode(request: FastifyRequest, wanted: { namespace: string; node: string | undefined; reads?: boolean }): void
}

/** Without tokens everybody may do everything. The command line allows that on loopback only, or when told to. */
export function newGuard(tokens: readonly Token[] | undefined, service: Service): Guard {
  if (!tokens || tokens.length === 0) {
    return { identify: () => {}, check: async () => {}, checkScope: () => {}, checkNode: () => {} }
  }
  return new TokenGuard(new Tokens(tokens), service)
}

class TokenGuard implements Guard {
  readonly #tokens: Tokens
  readonly #service: Service
  readonly #askers = new WeakMap<FastifyRequest, Token>()

  constructor(tokens: Tokens, service: Service) {
    this.#tokens = tokens
    this.#service = service
  }

  identify(request: FastifyRequest): void {
    const token = this.#tokens.find(request.headers.authorization)
    if (!token) throw new Refusal('unauthorised')
    this.#askers.set(request, token)
  }

  async check(request: FastifyRequest, asked: Request): Promise<void> {
    const token = this.#askerOf(request)
    if (token.namespace !== undefined && !isWithin(token.namespace, asked))
      throw forbidden(namespaceRule(token.namespace))
    if (token.role === 'admin' || isRead(asked.type)) return
    if (token.role === 'observe') throw forbidden('An observe token only reads.')
    await this.#checkForNodes(token.nodes ?? [], asked)
  }

  checkScope(request: FastifyRequest, { scope, namespace }: { scope: Scope; namespace?: string | undefined }): void {
    const token = this.#askerOf(request)
    if (token.namespace === undefined || scope.of === 'session') return
    const wanted = scope.of === 'all' ? namespace : scope.namespace
    if (wanted !== token.namespace) throw forbidden(namespaceRule(token.namespace))
  }

  checkNode(
    request: FastifyRequest,
    { namespace, node, reads = false }: { namespace: string; node: string | undefined; reads?: boolean },
  ): void {
    const token = this.#askerOf(request)
    if ((token.namespace ?? namespace) !== namespace) throw forbidden(namespaceRule(token.namespace ?? ''))
    if (token.role === 'admin' || (token.role === 'observe' && reads) || (node === undefined && reads)) return
    if (token.role === 'observe') throw forbidden('An observe token only reads.')
    if (node === undefined || !token.nodes?.includes(node)) throw forbidden(NODE_RULE)
  }

  /** A session is a secret: knowing one is enough. An owner is not: it must be one of a node of this token. */
  async #checkForNodes(nodes: readonly string[], asked: Request): Promise<void> {
    switch (asked.type) {
      case 'acquire':
      case 'add-reference':
      case 'release-reference':
      case 'drop-node':
      case 'open-session':
        if (!nodes.includes(asked.node)) throw forbidden(NODE_RULE)
        break
      case 'release':
      case 'renew':
      case 'cancel':
      case 'progress': {
        const node = await this.#nodeOf(asked)
        if (node !== undefined && !nodes.includes(node)) throw forbidden(NODE_RULE)
        break
      }
      case 'revoke':
      case 'apply-policy':
        throw forbidden('This takes an admin token.')
    }
  }

  /** The node behind an owner: of its grant or its place in line. Nothing where it has neither, and nothing to lose. */
  async #nodeOf(asked: {
    namespace: string
    resource: string
    operation: string
    owner: string
  }): Promise<string | undefined> {
    const { namespace, resource } = asked
    const reply = await this.#service.call({ type: 'get-resource', namespace, resource })
    if (reply.status === 'refused') return undefined
    const { grants, waiters } = reply.resource
    return [...grants, ...waiters].find(
      ({ operation, owner }) => operation === asked.operation && owner === asked.owner,
    )?.node
  }

  #askerOf(request: FastifyRequest): Token {
    const token = this.#askers.get(request)
    if (!token) throw new Refusal('unauthorised')
    return token
  }
}

const NODE_RULE = 'The token does not act for this node.'

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
