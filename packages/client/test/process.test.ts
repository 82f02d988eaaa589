import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startProcess } from '@baton-lock/test-support/processes'
import { startRealServer } from '@baton-lock/test-support/real-server'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../src/index.ts'

const CLIENT = fileURLToPath(new URL('../../baton-lock/dist/index.js', import.meta.url))

/** A program of its own over the built SDK: when does it end by itself? */
async function program(source: string) {
  if (!existsSync(CLIENT)) throw new Error(`${CLIENT} is missing: run \`npm run build\` first`)
  const script = `import { connect, open } from ${JSON.stringify(CLIENT)}\n${source}`
  const started = startProcess(process.execPath, ['--input-type=module', '-e', script])
  onTestFinished(() => started.end())
  const { code, stdout, stderr } = await started.ended
  return { code, output: stdout + stderr }
}

test('a program that has done its work ends, though its client was never closed', async () => {
  const url = await startRealServer()
  for (const how of ["open('memory:')", `connect('${url}')`]) {
    const { code, output } = await program(`
      const baton = await ${how}
      const all = await Promise.all([1, 2, 3].map((i) => baton.run('lock', 'l', () => i)))
      console.log(all.map(({ result }) => result).join())`)
    expect({ code, output }).toEqual({ code: 0, output: '1,2,3\n' })
  }
})

test('a program that has forgotten to release a lock ends all the same', async () => {
  const url = await startRealServer()
  const { code, output } = await program(`
    const baton = await connect('${url}')
    const lock = await baton.lock('l')
    console.log(lock)`)
  expect({ code, output }).toEqual({ code: 0, output: "Lock { resource: 'l', fence: 1, state: 'held' }\n" })
})

test('a program that waits for the signal of its lock goes on holding it', async () => {
  const url = await startRealServer()
  const ended = program(`
    const baton = await connect('${url}', { node: 'b' })
    const { signal } = await baton.lock('l')
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    console.log(signal.reason.code)`)
  const baton = await connect(url, { node: 'a' })
  onTestFinished(() => baton.close())
  for await (const event of baton.events({ resource: 'l' })) {
    if (event.type === 'granted' || (event.type === 'state' && event.of === 'resource' && event.view?.grants.length))
      break
  }
  await baton.revoke('lock', 'l')
  expect(await ended).toEqual({ code: 0, output: 'grant-lost\n' })
})

test('a program that only waits in line goes on waiting', async () => {
  const url = await startRealServer()
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
