import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newWorld } from '@baton-lock/test-support/server-world'
import { expect, onTestFinished, test } from 'vitest'

function builtPage(): string {
  const folder = mkdtempSync(join(tmpdir(), 'baton-page-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'assets'))
  const write = (path: string, text: string) => writeFileSync(join(folder, path), text)
  write('index.html', '<!doctype html><title>Baton</title>')
  write('assets/page-1a2b.js', 'run()')
  write('assets/page-1a2b.js.br', 'as brotli')
  write('assets/page-1a2b.js.gz', 'as gzip')
  write('secret.txt', 'not for the web')
  return folder
}

function serving(...pageFolders: string[]) {
  return newWorld({ pageFolders }).get
}

test('the page comes with a policy that lets it reach nothing but its own server', async () => {
  const { status, headers, body } = await serving(builtPage())('/')
  expect(status).toBe(200)
  expect(body).toContain('<title>Baton</title>')
  expect(headers['content-type']).toBe('text/html; charset=utf-8')
  expect(headers['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  )
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  })
})

test('a browser that has the page is not sent it again', async () => {
  const get = serving(builtPage())
  const { etag = '' } = (await get('/')).headers
  expect(await get('/', { 'if-none-match': etag })).toMatchObject({ status: 304, body: '' })
  expect(await get('/', { 'if-none-match': `"old", W/${etag}` })).toMatchObject({ status: 304 })
  expect(await get('/', { 'if-none-match': '"old"' })).toMatchObject({ status: 200 })
})

test('a file with a hash in its name is kept for ever, and comes as small as the browser takes it', async () => {
  const get = serving(builtPage())
  const plain = await get('/assets/page-1a2b.js')
  expect(plain).toMatchObject({ status: 200, body: 'run()' })
  expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable')
  expect(plain.headers['content-type']).toBe('text/javascript; charset=utf-8')
  const br = await get('/assets/page-1a2b.js', { 'accept-encoding': 'gzip, deflate, br' })
  expect(br).toMatchObject({ body: 'as brotli', headers: { 'content-encoding': 'br', vary: 'accept-encoding' } })
  const gzip = await get('/assets/page-1a2b.js', { 'accept-encoding': 'gzip' })
  expect(gzip).toMatchObject({ body: 'as gzip', headers: { 'content-encoding': 'gzip' } })
})

test.each(['/assets/page-1a2b.js.br', '/assets/..%2fsecret.txt', '/assets/none.js', '/secret.txt', '/index.html'])(
  'nothing is at %s',
  async (url) => expect(await serving(builtPage())(url)).toMatchObject({ status: 404 }),
)

test('the first folder that has a page counts, and without any it is said what to do', async () => {
  const nowhere = join(tmpdir(), 'baton-page-that-is-nowhere')
  expect(await serving(nowhere, builtPage())('/')).toMatchObject({ status: 200 })
  const unbuilt = await serving(nowhere)('/')
  expect(unbuilt.status).toBe(503)
  expect(unbuilt.body).toContain('npm run build')
  expect(await serving(nowhere)('/assets/page.js')).toMatchObject({ status: 404 })
})

const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }

test('who follows a link of another site comes to the page, and to nothing else', async () => {
  const { get } = newWorld()
  expect((await get('/', link)).body).not.toMatchObject({ code: 'foreign-page' })
  for (const path of ['/healthz', '/openapi.json', '/v1/resources', '/assets/a.js', '/nowhere'])
    expect(await get(path, link), path).toMatchObject({ status: 403, body: { code: 'foreign-page' } })
})

test.each([
  ['a frame', { ...link, 'sec-fetch-dest': 'iframe' }],
  ['a script that fetches it', { ...link, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'empty' }],
  ['one that names a foreign origin', { ...link, origin: 'http://evil.example' }],
])('%s of another site is refused the page too', async (_name, headers) => {
  expect(await newWorld().get('/', headers)).toMatchObject({ status: 403, body: { code: 'foreign-page' } })
})
