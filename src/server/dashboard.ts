import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errorBody } from '../protocol/index.ts'
import { refuse } from './failures.ts'

/** One file of the page, whole and as it was compressed at the build. */
interface PageFile {
  readonly type: string
  readonly etag: string
  readonly plain: Buffer
  readonly br?: Buffer
  readonly gzip?: Buffer
}

type PageFiles = ReadonlyMap<string, PageFile>

/** Beside this file in a build, bundled or not; or that of the repository, where the sources themselves run. */
const FOLDERS = ['../dashboard/', '../../dist/dashboard/'].map((path) => fileURLToPath(new URL(path, import.meta.url)))

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Nothing but its own files, and its own server. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

const NOT_BUILT = `Baton is running, but its dashboard was not built: there is no folder dist/dashboard.
In a checkout, run \`npm run build\`, then load this page again; of an installed package, install it anew.
All else works without it: see /openapi.json, or \`baton status\`.
`

/** GET / and what belongs to it. Its files are read once, when first asked for. */
export function serveDashboard(app: FastifyInstance, folders: readonly string[] = FOLDERS): void {
  let reading: Promise<PageFiles> | undefined
  const filesOf = () => {
    reading ??= readFiles(folders)
    return reading
  }
  const answer = async (request: FastifyRequest, reply: FastifyReply, path: string) => {
    const files = await filesOf().catch((error) => {
      reading = undefined
      throw error
    })
    const file = files.get(path)
    if (file) return send(request, reply.headers(HEADERS), file)
    if (files.size > 0 || path !== 'index.html') return refuse(reply, errorBody('not-found'))
    reading = undefined
    return reply.code(503).headers(HEADERS).type('text/plain; charset=utf-8').send(NOT_BUILT)
  }
  const method = ['GET', 'HEAD']
  app.route({
    method,
    url: '/',
    handler: async (request, reply) => answer(request, reply.header('cache-control', 'no-cache'), 'index.html'),
  })
  app.route<{ Params: { name: string } }>({
    method,
    url: '/assets/:name',
    handler: async (request, reply) => answer(request, reply, `assets/${request.params.name}`),
  })
}

/** Those of the first folder that has any; none where it was not built. */
async function readFiles(folders: readonly string[]): Promise<PageFiles> {
  for (const folder of folders) {
    const names = await readdir(join(folder, 'assets')).catch(() => [])
    if (names.length === 0) continue
    const paths = ['index.html', ...names.map((name) => `assets/${name}`)].filter((path) => extname(path) in TYPES)
    const read = paths.map(async (path) => [path, await readPageFile(join(folder, path))] as const)
    return new Map(await Promise.all(read))
  }
  return new Map()
}

async function readPageFile(path: string): Promise<PageFile> {
  const optional = (suffix: string) => readFile(path + suffix).catch(() => undefined)
  const [plain, br, gzip] = await Promise.all([readFile(path), optional('.br'), optional('.gz')])
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`
  return { type: TYPES[extname(path)]!, etag, plain, ...(br && { br }), ...(gzip && { gzip }) }
}

function send({ headers, url }: FastifyRequest, reply: FastifyReply, file: PageFile): FastifyReply {
  const { type, etag, plain, br, gzip } = file
  // The names of these files have their hash in them.
  if (url !== '/' && !url.startsWith('/?')) reply.header('cache-control', 'public, max-age=31536000, immutable')
  reply.headers({ etag, vary: 'accept-encoding' })
  if (headers['if-none-match']?.split(/\s*,\s*/).some((each) => each === etag || each === `W/${etag}`))
    return reply.code(304).send()
  const accepted = headers['accept-encoding'] ?? ''
  if (br && /\bbr\b/.test(accepted)) return reply.type(type).header('content-encoding', 'br').send(br)
  if (gzip && /\bgzip\b/.test(accepted)) return reply.type(type).header('content-encoding', 'gzip').send(gzip)
  return reply.type(type).send(plain)
}
