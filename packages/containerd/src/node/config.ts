import { readFileSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { issuesText } from '@baton-lock/protocol'
import { idSchema } from '@baton-lock/protocol/schemas'
import { parse, TomlError } from 'smol-toml'
import { z } from 'zod'
import { ContentError } from '../errors.ts'
import { foldersOf, type NodeFolders } from './folders.ts'

/** What to do while no lock server answers. */
export type ContentWhenUnavailable = 'wait' | 'fail' | 'pull-anyway'

/** The configuration of a content store, as its TOML file has it. */
export interface ContentSettings {
  /** The node that this is: one of `nodes`. */
  readonly current_node: string
  /** Where containerd finds it. Not needed without containerd. */
  readonly socket_path?: string
  /** The lock servers, by URL or host:port. Default: the `lock_server` of the current node. */
  readonly servers?: readonly string[]
  /** A store that all nodes reach, instead of servers: `mysql://…`, `etcd://…`. */
  readonly store?: string
  /** A file with the bearer token of this node. */
  readonly token_file?: string
  /** What to do while no lock server answers. Default: pull-anyway, after 5 s. */
  readonly when_unavailable?: ContentWhenUnavailable
  /** All nodes of the cluster by name, this one too, alike on each of them. */
  readonly nodes: Readonly<Record<string, ContentNodeSettings>>
}

/** One node of the cluster. */
export interface ContentNodeSettings {
  /** Its folder: blobs are written to `ROOT/host`, the union of all nodes is at `ROOT/merged`. */
  readonly root: string
  /** Its address; for people. */
  readonly ip?: string
  /** Its lock server, by URL or host:port. */
  readonly lock_server?: string
}

/** Checked and complete. */
export interface ContentConfig {
  readonly node: string
  readonly socketPath: string | undefined
  /** By name; the current one is among them. */
  readonly nodes: ReadonlyMap<string, NodeFolders>
  readonly own: NodeFolders
  /** Where the lock is: servers, or a store that all nodes share. */
  readonly lock: { readonly servers: readonly string[] } | { readonly store: string }
  readonly token: string | undefined
  readonly whenUnavailable: ContentWhenUnavailable
  /** What is odd about it, a sentence each. */
  readonly warnings: readonly string[]
}

/** The longest path that a unix socket can have. */
const SOCKET_BYTES = 107
/** What separates branches, or is a pattern, to mergerfs. */
const UNFIT_FOR_BRANCH = /[:=*?[\]{}\n]/

export const contentNodeSchema = z.looseObject({
  root: z
    .string()
    .refine(isAbsolute, 'must be an absolute path')
    .refine(
      (path) => !UNFIT_FOR_BRANCH.test(path),
      'must be a path without : = * ? [ ] { }, which mergerfs takes apart',
    )
    .describe('its folder: blobs are written to `ROOT/host`, the union of all nodes is at `ROOT/merged`'),
  ip: z.string().optional().describe('its address; for people'),
  lock_server: z.string().min(1).optional().describe('its lock server, by URL or host:port; several by commas'),
})

export const contentSettingsSchema = z.looseObject({
  current_node: idSchema.describe('the node that this is: one of `nodes`'),
  socket_path: z
    .string()
    .min(1)
    .refine((path) => Buffer.byteLength(path) <= SOCKET_BYTES, `must have ${SOCKET_BYTES} bytes at most, as a socket`)
    .optional()
    .describe('where containerd finds it; not needed without containerd'),
  servers: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('the lock servers, by URL or host:port; where absent, the `lock_server` of the current node'),
  store: z
    .string()
    .min(1)
    .optional()
    .describe('a store that all nodes reach, instead of servers: `mysql://…`, `etcd://…`'),
  token_file: z.string().min(1).optional().describe('a file with the bearer token of this node'),
  when_unavailable: z
    .enum(['wait', 'fail', 'pull-anyway'])
    .optional()
    .describe('what to do while no lock server answers; where absent, `pull-anyway` after 5 s'),
  nodes: z
    .record(idSchema, contentNodeSchema)
    .describe('all nodes of the cluster by name, this one too, alike on each of them'),
})

const known = Object.keys(contentSettingsSchema.shape)

/** The configuration of a file. */
export function readContentConfig(path: string): ContentConfig {
  const text = readConfigured(path, 'the configuration')
  try {
    return contentConfigOf(parse(text), path)
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause
    const [what = ''] = cause.message.replace(/^Invalid TOML document: /, '').split('\n')
    throw bad(`${path} is not TOML: line ${cause.line}, column ${cause.column}: ${what}`, cause)
  }
}

/** The same of a value; `from` names it in messages. */
export function contentConfigOf(value: unknown, from: string): ContentConfig {
  const checked = contentSettingsSchema.safeParse(value)
  if (!checked.success) throw bad(`${from} has to be changed: ${issuesText(checked.error.issues)}`)
  const settings = checked.data
  const nodes = new Map(
    Object.entries(settings.nodes).map(([name, { root }]) => [name, foldersOf(name, resolve(root))]),
  )
  const own = nodes.get(settings.current_node)
  if (!own) {
    const names = [...nodes.keys()].join(', ') || 'none'
    throw bad(`${from}: current_node is '${settings.current_node}', and [nodes] has ${names}; name one of them`)
  }
  checkRoots(nodes, from)
  return {
    node: settings.current_node,
    socketPath: settings.socket_path,
    nodes,
    own,
    lock: lockOf(settings, from),
    token: settings.token_file === undefined ? undefined : readConfigured(settings.token_file, 'token_file').trim(),
    whenUnavailable: settings.when_unavailable ?? 'pull-anyway',
    warnings: Object.keys(settings)
      .filter((key) => !known.includes(key))
      .map((key) => `${from}: '${key}' is not known and does nothing; known are ${known.join(', ')}`),
  }
}

function checkRoots(nodes: ReadonlyMap<string, NodeFolders>, from: string): void {
  const names = new Map<string, string>()
  for (const { name, root } of nodes.values()) {
    const other = names.get(root)
    if (other !== undefined) throw bad(`${from}: ${other} and ${name} have the same root ${root}; each needs its own`)
    names.set(root, name)
  }
}

function lockOf(settings: z.output<typeof contentSettingsSchema>, from: string): ContentConfig['lock'] {
  const { store, servers, current_node: node, nodes } = settings
  if (store !== undefined && servers !== undefined) {
    throw bad(`${from}: servers and store exclude one another; keep one of them`)
  }
  if (store !== undefined) return { store }
  const named = servers ?? nodes[node]?.lock_server?.split(',')
  if (!named) {
    throw bad(`${from} names no lock server: add servers = ["http://HOST:8086"], or nodes.${node}.lock_server`)
  }
  return { servers: named.map((server) => serverUrl(server.trim(), from)) }
}

function serverUrl(server: string, from: string): string {
  const url = /^https?:\/\//.test(server) ? server : `http://${server}`
  const isHost = URL.canParse(url) && new URL(url).hostname !== ''
  if (!isHost || (server.includes('://') && url !== server)) {
    throw bad(`${from}: '${server}' is no lock server; write it like http://10.0.0.1:8086 or 10.0.0.1:8086`)
  }
  return url
}

function readConfigured(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : (cause as Error).message
    throw bad(`cannot read ${path} (${what}): ${why}; check the path`, cause)
  }
}

function bad(message: string, cause?: unknown): ContentError {
  return new ContentError('bad-config', message, { cause })
}
