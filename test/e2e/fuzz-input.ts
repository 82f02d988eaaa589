import { batchRoute, eventsRoute, type RequestType, routes } from '@baton-lock/protocol'
import type { Random } from '@baton-lock/store/conformance'

/** A request as it goes over the wire, good or bad. */
export interface FuzzRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

type Fields = Record<string, unknown>

const key = (random: Random) => ({
  operation: random.pick(['pull', 'update', 'delete', 'lock', 'once', 'lead']),
  resource: `r${random.integer(4)}`,
})
const who = (random: Random) => ({ owner: `n${random.integer(3)}`, hold: random.pick(['h', '-']) })

/** One good request of each type. */
const good: Readonly<Record<RequestType, (random: Random) => Fields>> = {
  acquire: (random) => ({ ...key(random), ...who(random), node: 'n0', ttlMs: 30_000, waitMs: 5_000, revision: 'v1' }),
  release: (random) => ({ ...key(random), ...who(random), fence: random.integer(9), outcome: 'success', result: {} }),
  renew: (random) => ({ ...key(random), owner: 'n0', fence: random.integer(9) }),
  cancel: (random) => ({ ...key(random), ...who(random) }),
  revoke: (random) => ({ ...key(random), fence: random.integer(9) }),
  forget: (random) => key(random),
  progress: (random) => ({ ...key(random), owner: 'n0', fence: random.integer(9), progress: [0.5] }),
  'add-reference': (random) => ({ resource: key(random).resource, node: 'n1' }),
  'release-reference': (random) => ({ resource: key(random).resource, node: 'n1' }),
  'drop-node': () => ({ node: 'n1' }),
  'open-session': () => ({ session: 's1', node: 'n0', ttlMs: 30_000 }),
  'renew-session': () => ({ session: 's1' }),
  'close-session': () => ({ session: 's1' }),
  'list-places': () => ({ session: 's1' }),
  'leave-place': (random) => ({ ...key(random), owner: 'n0', session: 's1' }),
  'get-resource': (random) => ({ resource: key(random).resource, namespace: 'default' }),
  'list-waiters': (random) => ({ resource: key(random).resource, after: 1, limit: 10 }),
  'list-resources': () => ({ limit: 10, active: true, prefix: 'r', node: 'n0' }),
  'get-timeline': (random) => ({ resource: key(random).resource, namespace: 'default' }),
  'get-overview': () => ({ namespace: 'default' }),
  'get-policy': () => ({}),
  'get-who': () => ({}),
  'apply-policy': () => ({
    version: 999,
    policy: {
      namespaces: { other: { exclusion: 'resource', operations: { bake: { attempts: 1, contradicts: ['pull'] } } } },
    },
  }),
}

const classicAsk = (random: Random) => ({
  type: key(random).operation,
  resource_id: `r${random.integer(4)}`,
  node_id: `n${random.integer(3)}`,
})

interface Target {
  readonly method: string
  readonly path: string
  readonly fields: (random: Random) => Fields
}

const targets: readonly Target[] = [
  ...Object.entries(routes).map(([type, { method, path }]) => ({ method, path, fields: good[type as RequestType] })),
  {
    ...batchRoute,
    fields: (random) => {
      const types = Array.from({ length: 1 + random.integer(3) }, () => random.pick(Object.keys(good) as RequestType[]))
      return { requests: types.map((type) => ({ type, ...good[type](random) })) }
    },
  },
  { ...eventsRoute, fields: (random) => ({ ...key(random), owner: 'n0' }) },
  { method: 'POST', path: '/lock', fields: classicAsk },
  { method: 'POST', path: '/unlock', fields: (random) => ({ ...classicAsk(random), success: true, error: '' }) },
  { method: 'GET', path: '/lock/status', fields: classicAsk },
  { method: 'POST', path: '/lock/status', fields: classicAsk },
  { method: 'GET', path: '/lock/subscribe', fields: classicAsk },
  { method: 'GET', path: '/healthz', fields: () => ({}) },
  { method: 'GET', path: '/readyz', fields: () => ({}) },
  { method: 'GET', path: '/openapi.json', fields: () => ({}) },
]

/** Values that a field may be given in place of its own. As JSON text: some of them JavaScript cannot hold. */
const NASTY = [
  'null',
  'true',
  '0',
  '-1',
  '1.5',
  '-0',
  '1e309',
  '9007199254740993',
  '123456789012345678901234567890',
  '1e-400',
  '""',
  '" "',
  '"\\u0000"',
  '"a\\u0000b"',
  '"\\ud800"',
  '"\\u202e\\u2028"',
  '"é\\u0301👩‍👩‍👧 نص"',
  '"__proto__"',
  '"constructor"',
  '"toString"',
  '"success"',
  '"failure"',
  '"../../etc/passwd"',
  '"\'; DROP TABLE locks; --"',
  '"%00%zz"',
  `"${'x'.repeat(513)}"`,
  `"${'é'.repeat(300)}"`,
  `"${'y'.repeat(20_000)}"`,
  '[]',
  '[[]]',
  '[null]',
  '{}',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"toJSON":1}',
  `${'['.repeat(200)}${']'.repeat(200)}`,
  `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`,
  `[${'0,'.repeat(5_000)}0]`,
] as const

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD', 'TRACE', 'PROPFIND']

/** A good request with something wrong about it; now and then with nothing wrong at all. */
export function drawRequest(random: Random): FuzzRequest {
  const { method, path, fields } = random.pick(targets)
  const text = mutated(random, fields(random))
  const isQuery = method === 'GET'
  const query = isQuery || random.chance(0.05) ? queryOf(random, fields(random), text) : ''
  return {
    method: random.chance(0.08) ? random.pick(METHODS) : method,
    path: mutatedPath(random, path) + query,
    headers: headersOf(random),
    body: isQuery && !random.chance(0.1) ? '' : bytesOf(random, text),
  }
}

/** JSON text of the fields with one or two of them changed. */
function mutated(random: Random, fields: Fields): string {
  const entries = Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)] as [string, string])
  for (let count = random.pick([0, 1, 1, 1, 2, 3]); count > 0; count--) {
    const at = random.integer(Math.max(1, entries.length))
    const entry = entries[at]
    const how = random.integer(6)
    if (how === 0) entries.splice(at, 1)
    else if (how === 1) entries.push([random.pick(['colour', '__proto__', 'constructor', '', 'type', '\u0000']), '1'])
    else if (how === 2 && entry) entries.push([entry[0], random.pick(NASTY)])
    else if (entry) entry[1] = random.pick(NASTY)
  }
  const json = `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`
  return random.chance(0.05) ? random.pick([...NASTY, `[${json}]`, `${json}${json}`, json.slice(0, -1)]) : json
}

function bytesOf(random: Random, text: string): string | Buffer {
  if (!random.chance(0.1)) return text
  const bytes = Buffer.from(text)
  for (let count = 1 + random.integer(3); count > 0 && bytes.length > 0; count--) {
    bytes[random.integer(bytes.length)] = random.integer(256)
  }
  return random.chance(0.1) ? Buffer.concat([bytes, Buffer.alloc(70_000, 0x20)]) : bytes
}

function queryOf(random: Random, fields: Fields, text: string): string {
  const parts = Object.entries(fields)
    .filter(() => !random.chance(0.15))
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
  if (random.chance(0.5)) {
    const extra = [
      'resource=a&resource=b',
      'limit=-1',
      'limit=1e9',
      'active=perhaps',
      'after=%22%5B',
      'resource=%zz',
      'resource=%ff',
      'resource=%00',
      'x[y][z]=1',
      '__proto__=1',
      '__proto__[a]=1',
      '=',
      '&&&',
      '%',
      `prefix=${'p'.repeat(600)}`,
      encodeURIComponent(text.slice(0, 2_000)),
    ]
    parts.push(random.pick(extra))
  }
  return parts.length > 0 ? `?${parts.join('&')}` : ''
}

function mutatedPath(random: Random, path: string): string {
  if (!random.chance(0.06)) return path
  return random.pick([
    `${path}/`,
    `/${path}`,
    `${path}/..`,
    `${path}%00`,
    `${path}%2e%2e`,
    path.toUpperCase(),
    '/',
    '/v1',
    '*',
  ])
}

function headersOf(random: Random): Record<string, string> {
  const headers: Record<string, string> = {}
  const draw = (name: string, values: readonly string[], chance = 0.1) => {
    if (random.chance(chance)) headers[name] = random.pick(values)
  }
  draw('content-type', ['application/json', 'text/plain', 'multipart/form-data', 'x/y; charset=utf-7', ';;;', 'é'], 0.5)
  draw('content-encoding', ['gzip', 'br', 'identity', 'nonsense'])
  draw('accept', ['text/event-stream', '*/*', 'x'.repeat(1_000)])
  draw('last-event-id', ['1', '-1', 'x', '9'.repeat(400), '1-1', '\u00ff'])
  draw('baton-session', ['s1', '', 'x'.repeat(600), '\u00e9', 'a b'])
  draw('authorization', ['Bearer', 'Bearer x', 'Basic eDp5', `Bearer ${'t'.repeat(4_000)}`])
  draw('expect', ['100-continue', '200-ok'], 0.03)
  draw('x-forwarded-for', ['::1', "1' OR '1'='1"])
  draw('upgrade', ['websocket', 'h2c'], 0.03)
  return headers
}
