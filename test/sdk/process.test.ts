import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { buildApp, listen } from '../../src/server/index.ts'
import { Service, systemClock } from '../../src/service/index.ts'
import { openMemoryStore } from '../../src/stores/memory/index.ts'

const CLIENT = fileURLToPath(new URL('../../dist/client/index.js', import.meta.url))

/** A program of its own over the built SDK: when does it end by itself? */
function program(source: string) {
  if (!existsSync(CLIENT)) throw new Error(`${CLIENT} is missing: run \`npm run build\` first`)
  const script = `import { connect, open } from ${JSON.stringify(CLIENT)}\n${source}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  return new Promise<{ code: number | null; output: string }>((resolve) =>
    child.on('close', (code) => resolve({ code, output })),
  )
}

async function server() {
  const clock = systemClock()
  const service = new Service({ store: openMemoryStore({ clock }) })
  const app = buildApp({ service })
  onTestFinished(async () => {
    await app.close()
    await service.close()
    clock.stop()
  })
  return { url: await listen(app, { port: 0 }) }
}

test('a program that has done its work ends, though its client was never closed', async () => {
  const { url } = await server()
  for (const how of ["open('memory:')", `connect('${url}')`]) {
    const { code, output } = await program(`
      const baton = await ${how}
      const all = await Promise.all([1, 2, 3].map((i) => baton.run('lock', 'l', () => i)))
      console.log(all.map(({ result }) => result).join())`)
    expect({ code, output }).toEqual({ code: 0, output: '1,2,3\n' })
  }
})

test('a program that only waits in line goes on waiting', async () => {
  const { url } = await server()
  const baton = await connect(url, { node: 'a' })
  onTestFinished(() => baton.close())
  const grant = await baton.acquire('lock', 'l')
  const ended = program(`
    const baton = await connect('${url}', { node: 'b' })
    const { fence } = await baton.acquire('lock', 'l')
    console.log(fence)
    await baton.close()`)
  for await (const event of baton.events({ resource: 'l' })) {
    const isThere = event.type === 'state' && event.of === 'resource' && event.view?.waiting === 1
    if (isThere || event.type === 'queued') break
  }
  await grant.succeed()
  expect(await ended).toEqual({ code: 0, output: '2\n' })
})
