import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Answer, Exchange } from './http/exchange.ts'
import type { HttpRoute } from './http/router.ts'
import { Refusal } from './refusal.ts'

/** One file of the page, whole and as it was compressed at the build. */
interface PageFile {
  readonly type: string
  readonly etag: string
  readonly plain: Buffer
  readonly br?: Buffer
  readonly gzip?: Buffer
}

type PageFiles = ReadonlyMap<string, PageFile>

/** Beside the chunks of a build, or in the build of the repository if the sources run. */
const FOLDERS = ['../dashboard/', './dashboard/', '../../baton-lock/dist/dashboard/'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
)

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

/** GET / and the files that belong to it. They are read once, when first asked for. */
export function dashboardRoutes(folders: readonly string[] = FOLDERS): HttpRoute[] {
  let reading: Promise<PageFiles> | undefined
  const answer = async (exchange: Exchange, path: string, headers: Headers): Promise<Answer> => {
    reading ??= readFiles(folders)
    const files = await reading.catch((error) => {
      reading = undefined
      throw error
    })
    const file = files.get(path)
    if (file) return fileAnswer(exchange, file, headers)
    if (files.size > 0 || path !== 'index.html') throw new Refusal('not-found')
    reading = undefined
    const content = { type: 'text/plain; charset=utf-8', data: NOT_BUILT }
    return { status: 503, content, headers: { ...HEADERS, ...headers } }
  }
  const method = ['GET', 'HEAD']
  return [
    { method, path: '/', handle: (exchange) => answer(exchange, 'index.html', { 'cache-control': 'no-cache' }) },
    // The names of these files have a hash of their content in them.
    { method, path: '/assets/:name', handle: (exchange) => answer(exchange, exchange.path.slice(1), KEPT_FOR_EVER) },
  ]
}

type Headers = Readonly<Record<string, string>>

const KEPT_FOR_EVER: Headers = { 'cache-control': 'public, max-age=31536000, immutable' }

/** The files of the first folder that has any; none if the page was not built. */
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

function fileAnswer({ request }: Exchange, file: PageFile, more: Headers): Answer {
  const { type, etag, plain, br, gzip } = file
  const headers = { ...HEADERS, ...more, etag, vary: 'accept-encoding' }
  const { 'if-none-match': known, 'accept-encoding': accepted = '' } = request.headers
  if (known?.split(/\s*,\s*/).some((each) => each === etag || each === `W/${etag}`)) return { status: 304, headers }
  const coded = (data: Buffer, coding: string): Answer => ({
    status: 200,
    content: { type, data },
    headers: { ...headers, 'content-encoding': coding },
  })
  if (br && /\bbr\b/.test(String(accepted))) return coded(br, 'br')
  if (gzip && /\bgzip\b/.test(String(accepted))) return coded(gzip, 'gzip')
  return { status: 200, content: { type, data: plain }, headers }
}
