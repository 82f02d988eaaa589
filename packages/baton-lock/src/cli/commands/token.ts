import { formatDuration, type NamedToken, type Role } from '@baton-lock/protocol'
import { type DefineCommand, gather } from '../command.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../exit.ts'
import { columns } from '../print/layout.ts'
import { say, sayJson } from '../print/say.ts'
import { parseDuration } from '../values.ts'

interface FileFlags {
  readonly tokens?: string
}

interface NewFlags extends FileFlags {
  readonly role?: string
  readonly node?: readonly string[]
  readonly namespace?: string
  readonly name?: string
  readonly certificate?: string
  readonly expires?: string
}

const ROLES: readonly Role[] = ['node', 'observe', 'admin']

export const token: DefineCommand = (context) => ({
  name: 'token',
  summary: 'Make, list and revoke the tokens of a server.',
  commands: [newToken(context), listTokens(context), revokeToken(context)],
})

const TOKENS = ['--tokens <file>', 'the TOML file of [[tokens]] (BATON_TOKENS)'] as const

const newToken: DefineCommand = (context) => ({
  name: 'new',
  summary: 'make a token: prints it, once, and writes its SHA-256 to a file',
  flags: [
    TOKENS,
    ['--role <role>', 'node (acts for its nodes), observe (only reads) or admin (may do everything)'],
    [
      '--node <node>',
      'a node that a token of the role node acts for, or the beginning of names: api-*; repeatable',
      gather,
    ],
    ['--namespace <namespace>', 'it is good there only'],
    ['--name <name>', 'for logs, and to revoke it by (default: the first digits of its SHA-256)'],
    ['--expires <when>', 'after so long, e.g. 90d, or at a time, e.g. 2027-01-31T00:00:00Z (default: never)'],
    ['--certificate <name>', 'no token: who shows this certificate, e.g. CN=node-a or DNS:node-a.example'],
  ],
  notes:
    'If there is no such file, it is made, for its owner alone. A server that runs with it takes what is new at once.',
  example: `$ baton token new --role node --node node-a --expires 90d --tokens tokens.toml
baton_Qy3v…                        keep it where only its clients read it: it is not shown again
$ baton serve --host 0.0.0.0 --tokens tokens.toml`,
  async run(flags: NewFlags) {
    const { addEntry } = await import('../config/tokens-file.ts')
    const path = fileOf(flags, context)
    const { token, secret } = addEntry(path, entryOf(flags, Date.now()))
    if (secret !== undefined) say(context.stdout, secret)
    say(context.stderr, `baton: ${path} has ${token.name} now (${rightsOf(token)})`)
  },
})

const listTokens: DefineCommand = (context) => ({
  name: 'list',
  summary: 'show the tokens in a file: what they may do, and until when',
  flags: [TOKENS, ['--json', 'for programs']],
  example: '$ baton token list --tokens tokens.toml',
  async run(flags: FileFlags & { readonly json?: boolean }) {
    const { entriesOf } = await import('../config/tokens-file.ts')
    const tokens = entriesOf(fileOf(flags, context))
    if (flags.json) sayJson(context.stdout, tokens.map(shownOf), 2)
    else say(context.stdout, ...columns([HEAD, ...tokens.map((one) => rowOf(one, Date.now()))]))
  },
})

const revokeToken: DefineCommand = (context) => ({
  name: 'revoke',
  summary: 'take a token out of a file: a server that runs with it ends its streams, and answers it no more',
  args: [['<name>', 'as `baton token list` shows it']],
  flags: [TOKENS],
  example: '$ baton token revoke rack-1 --tokens tokens.toml',
  async run(flags: FileFlags, name: string) {
    const { removeEntry } = await import('../config/tokens-file.ts')
    const path = fileOf(flags, context)
    removeEntry(path, name)
    say(context.stdout, `revoked ${name}: it is not in ${path} any more`)
  },
})

function fileOf({ tokens }: FileFlags, { env }: CliContext): string {
  const path = tokens ?? (env.BATON_TOKENS || undefined)
  if (path === undefined) throw new UsageError('no file is named; say --tokens FILE, or set BATON_TOKENS')
  return path
}

function entryOf({ role: said, node: nodes, namespace, name, certificate, expires }: NewFlags, nowMs: number) {
  const role = ROLES.find((one) => one === said)
  if (role === undefined) {
    const what = said === undefined ? 'no role is named' : `'${said}' is not a role`
    throw new UsageError(`${what}; say --role node, --role observe or --role admin`)
  }
  if (role === 'node' && !nodes) throw new UsageError('a token of the role node acts for nodes; name them with --node')
  if (role !== 'node' && nodes) throw new UsageError(`only a token of the role node has nodes; leave out --node`)
  return { role, nodes, namespace, name, certificate, created: new Date(nowMs), expires: timeOf(expires, nowMs) }
}

/** A duration, or a time with its zone. */
function timeOf(text: string | undefined, nowMs: number): Date | undefined {
  if (text === undefined) return undefined
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)$/i.test(text)
  if (/^\d{4}-/.test(text) && !isTime) {
    throw new UsageError(`'${text}' is not a time with its zone; write it like 2027-01-31T00:00:00Z`)
  }
  const time = isTime ? new Date(text) : new Date(nowMs + parseDuration(text, { minMs: 1_000, maxMs: MAX_MS }))
  if (!(time.getTime() > nowMs)) throw new UsageError(`'${text}' is over already; name a time that is to come`)
  return time
}

const MAX_MS = 100 * 365 * 86_400_000

const HEAD = ['NAME', 'ROLE', 'NODES', 'NAMESPACE', 'BY', 'CREATED', 'EXPIRES']

function rowOf({ name, role, nodes, namespace, certificate, created, expires }: NamedToken, nowMs: number): string[] {
  const day = (time: Date | undefined) => time?.toISOString().slice(0, 10) ?? '-'
  const left = (expires?.getTime() ?? 0) - nowMs
  const until = expires ? `${day(expires)} (${left > 0 ? `in ${formatDuration(left)}` : 'over'})` : 'never'
  return [name, role, nodes?.join(',') ?? '-', namespace ?? '-', certificate ?? 'token', day(created), until]
}

/** All but the hash, which is of no use to anybody. */
function shownOf({ sha256: _, ...shown }: NamedToken) {
  return shown
}

function rightsOf({ role, nodes, namespace, expires }: NamedToken): string {
  return [
    role,
    ...(nodes ? [nodes.join(', ')] : []),
    ...(namespace === undefined ? [] : [`in ${namespace}`]),
    ...(expires ? [`until ${expires.toISOString()}`] : []),
  ].join('; ')
}
