import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { baton, serverOfFile, startServer, troubleIn, until } from './cli-process.ts'

/** What somebody else does to a server, or writes into it, and what comes of it. */

const { server, folder } = serverOfFile()

function post(
  url: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method: 'POST', agent: false, headers }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: text }))
    })
    outgoing.on('error', reject)
    outgoing.end(JSON.stringify(body))
  })
}

describe.concurrent('a web page', () => {
  const ask = { operation: 'lock', resource: 'by-a-page', node: 'a' }

  test('of somebody else gets nothing', async () => {
    const { status, body } = await post(`${server.url}/v1/acquire`, ask, { origin: 'http://evil.example' })
    expect([status, JSON.parse(body).code]).toEqual([403, 'foreign-page'])
  })

  test('that has its own name point here is turned away, unless it is a name of the server', async () => {
    const own = await startServer(['--allowed-host', 'a.example', '--allowed-host', 'b.example'])
    const by = async (host: string) => (await post(`${own.url}/v1/acquire`, ask, { host })).status
    expect(await by('evil.example')).toBe(421)
    expect([await by('a.example'), await by('b.example:8086'), await by('localhost')]).toEqual([200, 200, 200])
    await own.stop()
  })
})

describe.concurrent('tokens', () => {
  const sha256 = createHash('sha256').update('secret').digest('hex')

  test.each([
    ['an empty list', 'tokens = []', /tokens: there is none; /],
    ['an empty file', '', /tokens: there is none; /],
    ['no nodes', `[[tokens]]\nsha256 = "${sha256}"\nrole = "node"`, /tokens\.0\.nodes: .*write nodes = \["node-a"\]/],
  ])('%s: 64, and a sentence', async (name, text, sentence) => {
    const tokens = folder.write(`${name}.toml`, text)
    const { code, stdout, stderr } = await baton(['serve', '--port', '0', '--store', 'memory:', '--tokens', tokens])
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' })
    expect(stderr).toMatch(sentence)
    expect(stderr.split('\n')).toHaveLength(2)
  })

  test('that are guessed one after another are slowed down and told of, and a good one is not', async () => {
    const own = await startServer([
      '--tokens',
      folder.write('good.toml', `[[tokens]]\nsha256 = "${sha256}"\nrole = "admin"`),
    ])
    const by = async (token: string) => {
      const startMs = Date.now()
      const ask = { operation: 'lock', resource: 'x', node: 'a' }
      const { status } = await post(`${own.url}/v1/acquire`, ask, { authorization: `Bearer ${token}` })
      return { status, tookMs: Date.now() - startMs }
    }
    for (let tries = 0; tries < 5; tries++) expect((await by(`guess-${tries}`)).status).toBe(401)
    const sixth = by('guess-5')
    expect((await by('secret')).status).toBe(200)
    const { status, tookMs } = await sixth
    expect(status).toBe(401)
    expect(tookMs).toBeGreaterThan(900)
    const { stderr } = await own.stop()
    expect(troubleIn(stderr)).toMatchObject([{ message: 'wrong tokens', count: 1, networks: 1, mostFrom: '127.0.0.1' }])
    expect(stderr).not.toContain('guess')
  })
})

describe.concurrent('what others wrote', () => {
  const NODE = 'n\u202eode\u2066'
  const evil = 'x\u001b[31m\u009b2J\u202e\u200f\r\nbaton: forged \ud800'
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it is about.
  const OBEYED = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
  const harmless = (text: string) => {
    expect(text).not.toBe('')
    expect(text).not.toMatch(OBEYED)
    expect(text).not.toMatch(/^baton: forged/m)
    return text
  }
  const say = async (path: string, body: object) =>
    JSON.parse((await post(`${server.url}/v1/${path}`, { node: NODE, ...body })).body)

  test('is shown by status, events and refs without doing anything, and --json is exact', async () => {
    const resource = 'r\u202e\u2069'
    const events = server.start('events', '--resource', resource)
    const exactEvents = server.start('events', '--json', '--resource', resource)
    await until('the streams are open', async () => {
      await say('references/add', { resource })
      await say('references/release', { resource })
      return events.stdout() !== '' && exactEvents.stdout() !== ''
    })
    await say('references/add', { resource })
    const { fence } = await say('acquire', { operation: 'once', resource, revision: 'v\u200e' })
    const grant = { operation: 'once', resource, owner: NODE, fence }
    await say('progress', { ...grant, progress: evil })
    await say('release', { ...grant, outcome: 'failure', error: evil })
    const second = await say('acquire', { operation: 'once', resource })
    await say('release', { ...grant, fence: second.fence, outcome: 'success', result: evil, keepMs: 600_000 })
    for (const stream of [events, exactEvents])
      await until('both ends were told', () => stream.stdout().match(/ended: |"ended"/g)?.length === 2)
    events.kill('SIGTERM')
    exactEvents.kill('SIGTERM')
    await events.ended
    expect(harmless(events.stdout())).toContain(
      'n\\u202eode\\u2066 ended: failure: x [31m 2J\\u202e\\u200f baton: forged',
    )
    const told = harmless(exactEvents.stdout())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(told).toContainEqual(
      expect.objectContaining({ type: 'ended', node: NODE, outcome: { outcome: 'failure', error: evil } }),
    )

    for (const args of [['status'], ['status', resource], ['refs', 'list'], ['refs', 'list', resource]]) {
      const { stdout } = await server.baton(...args)
      expect(harmless(stdout)).toContain('n\\u202eode\\u2066')
    }
    const { stdout } = await server.baton('status', resource, '--json')
    expect(JSON.parse(harmless(stdout))).toMatchObject({ resource, kept: [{ node: NODE, result: evil }] })
    expect(JSON.parse(harmless((await server.baton('refs', 'list', resource, '--json')).stdout))).toEqual([NODE])
    const skipped = await server.baton('once', resource, '--', 'true')
    expect(harmless(skipped.stderr)).toMatch(/^skipped: once r\\u202e\\u2069 was done by n\\u202eode\\u2066 at /)
  })

  test('is one line of whoever waited, and what a command prints itself is passed on as it is', async () => {
    const resource = 'waited-for'
    const { fence } = await say('acquire', { operation: 'once', resource })
    const waiting = server.start('once', resource, '--', 'true')
    await until('it waits', () => waiting.stderr().includes('next in line'))
    const grant = { operation: 'once', resource, owner: NODE, fence }
    await say('release', { ...grant, outcome: 'failure', error: evil, permanent: true })
    const { code, stderr } = await waiting.ended
    expect(code).toBe(65)
    expect(harmless(stderr)).toMatch(/^baton: once waited-for: n\\u202eode\\u2066 failed for good: x \[31m 2J.*$/m)
    const raw = await server.baton('lock', 'raw', '--', 'printf', '\u001b[31m\u202e')
    expect(raw.stdout).toBe('\u001b[31m\u202e')
  })

  test('is no order to an operator\u2019s terminal either, and a policy that is shown can be applied', async () => {
    const resource = 'revoked'
    await say('acquire', { operation: 'lock', resource })
    expect(harmless((await server.baton('revoke', 'lock', resource)).stdout)).toContain(
      'from n\\u202eode\\u2066 (fence',
    )
    const own = await startServer()
    expect(harmless((await own.baton('policy', 'set', 'o\u202ep.attempts=3')).stdout)).toContain(
      'added    o\\u202ep: attempts=3',
    )
    const shown = await own.baton('policy', 'show')
    const exact = JSON.parse(harmless((await own.baton('policy', 'show', '--json')).stdout))
    expect(exact.policy.namespaces.default.operations['o\u202ep'].attempts).toBe(3)
    const again = await own.baton('policy', 'apply', folder.write('shown.toml', harmless(shown.stdout)), '--prune')
    expect(again.stdout).toMatch(/^nothing to change/)
    await own.stop()
  })
})

describe.concurrent('the history of a recorded server', () => {
  test('is for its owner alone', async () => {
    const path = folder.path('history.jsonl')
    const own = await startServer([], { BATON_HISTORY: path })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    await own.stop()
  })
})
