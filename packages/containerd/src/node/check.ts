import { access, constants, stat } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { type Baton, BatonError } from '@baton-lock/client'
import { CONTENT_NAMESPACE, type OpenStoreOptions, reachLock } from '../coordination/open-store.ts'
import { ContentError } from '../errors.ts'
import type { ContentConfig } from './config.ts'
import type { NodeFolders } from './folders.ts'
import { isNew } from './format.ts'
import { mountedAt } from './mergerfs.ts'

/** What was looked at. `wrong`: it does not start, or does not do what it should. */
export interface Finding {
  readonly how: 'good' | 'odd' | 'wrong'
  readonly sentence: string
}

/** Looks at everything that a node's content store needs, and changes nothing. */
export async function checkContent(config: ContentConfig, options: OpenStoreOptions): Promise<Finding[]> {
  const others = [...config.nodes.values()].filter(({ name }) => name !== config.node)
  return [
    ...config.warnings.map((sentence): Finding => ({ how: 'odd', sentence })),
    config.socketPath === undefined
      ? wrong('no socket_path is named; add the path by which containerd is to find it')
      : good(`containerd finds it at ${config.socketPath}`),
    await checkOwnFolder(config.own),
    ...(await checkUnion(config.own)),
    ...(await Promise.all(others.map(checkOtherFolder))),
    await checkLock(config, options),
  ]
}

async function checkOwnFolder(own: NodeFolders): Promise<Finding> {
  const { root, host } = own
  const refusal = await isNew(own).catch((error: Error) => error)
  if (refusal instanceof ContentError) return wrong(refusal.message)
  const nearest = await nearestThere(host)
  const isWritable = await can(nearest, constants.W_OK)
  if (isWritable) return good(`blobs are written to ${host}`)
  return wrong(`${root} cannot be written; ${nearest} belongs to another user`)
}

async function checkUnion({ merged }: NodeFolders): Promise<Finding[]> {
  const mounted = await mountedAt(merged)
  if (mounted !== undefined) return [good(`the union is mounted at ${merged} (${mounted})`)]
  const findings: Finding[] = []
  if (!(await hasProgram('mergerfs'))) findings.push(wrong('mergerfs is not installed: `apt-get install mergerfs`'))
  if (!(await can('/dev/fuse', constants.R_OK | constants.W_OK))) {
    findings.push(
      wrong(`this user cannot mount ${merged}: /dev/fuse cannot be opened; run it as root, with that device`),
    )
  }
  return findings.length > 0 ? findings : [good(`the union is going to be mounted at ${merged}`)]
}

async function checkOtherFolder({ name, host }: NodeFolders): Promise<Finding> {
  if (!(await can(host, constants.R_OK))) {
    return odd(`the folder of ${name} is not there: ${host}; it joins the union when it appears`)
  }
  if (await can(host, constants.W_OK)) return good(`the folder of ${name} is at ${host}`)
  return odd(`the folder of ${name} cannot be written: ${host}; what nobody uses there is left for ${name} to remove`)
}

async function checkLock(config: ContentConfig, options: OpenStoreOptions): Promise<Finding> {
  const where = 'store' in config.lock ? 'the store' : config.lock.servers.join(', ')
  let baton: Baton | undefined
  try {
    baton = await reachLock({ ...config }, { ...options, log: () => {} })
    await baton.status('content')
    const { policy } = await baton.policy()
    if (policy.namespaces[CONTENT_NAMESPACE]?.exclusion === 'resource') return good(`the lock answers at ${where}`)
    return wrong(
      `the policy of ${where} lets several operations of one blob run side by side: it needs exclusion = "resource" for the ` +
        `namespace ${CONTENT_NAMESPACE}, as the built-in policy has it; change it with \`baton policy set\``,
    )
  } catch (error) {
    const isKnown = error instanceof BatonError
    if (isKnown && error.code === 'forbidden') return good(`the lock answers at ${where}`)
    const sentence = `the lock at ${where}: ${(error as Error).message}`
    return isKnown && error.code === 'unavailable' && config.whenUnavailable === 'pull-anyway'
      ? odd(`${sentence}; until it answers, pulls go on without asking`)
      : wrong(sentence)
  } finally {
    await baton?.close()
  }
}

async function nearestThere(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    const isThere = await stat(at).then(
      () => true,
      () => false,
    )
    if (isThere || at === dirname(at)) return at
  }
}

async function hasProgram(name: string): Promise<boolean> {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  for (const folder of folders) if (await can(join(folder, name), constants.X_OK)) return true
  return false
}

function can(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  )
}

const good = (sentence: string): Finding => ({ how: 'good', sentence })
const odd = (sentence: string): Finding => ({ how: 'odd', sentence })
const wrong = (sentence: string): Finding => ({ how: 'wrong', sentence })
