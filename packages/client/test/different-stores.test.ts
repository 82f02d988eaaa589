import { buildApp, listen } from '@baton-lock/server'
import { Service, systemClock } from '@baton-lock/service'
import { openMemoryStore } from '@baton-lock/store/memory'
import type { Store } from '@baton-lock/store/store'
import { expect, onTestFinished, test } from 'vitest'
import { connect } from '../src/index.ts'

function newStore(id: string): Store {
  const clock = systemClock()
  onTestFinished(() => clock.stop())
  return openMemoryStore({ clock, id })
}

/** A real server over a store. */
async function serve(store: Store, port = 0) {
  const service = new Service({ store })
  const app = buildApp({ service })
  let isRunning = true
  const stop = async () => {
    if (!isRunning) return
    isRunning = false
    await app.close()
    await service.close()
  }
  onTestFinished(stop)
  return { url: await listen(app, { port }), stop }
}

/** A client, and what it says of stores. `ask` reaches one of its servers, whichever is there. */
async function clientOf(urls: string[]) {
  const notices: string[] = []
  const baton = await connect(urls, { node: 'a', whenUnavailable: 'fail', onNotice: (notice) => notices.push(notice) })
  onTestFinished(() => baton.close())
  const ask = () => baton.policy().catch(() => baton.policy())
  return { ask, aboutStores: () => notices.filter((notice) => notice.includes('different stores')) }
}

test('a client that moves to a server over another store says so, once for the pair', async () => {
  const [one, two] = [await serve(newStore('one')), await serve(newStore('two'))]
  const { ask, aboutStores } = await clientOf([one.url, two.url])
  await ask()
  expect(aboutStores()).toEqual([])
  await one.stop()
  await ask()
  const back = await serve(newStore('one'), Number(new URL(one.url).port))
  await two.stop()
  await ask()
  expect(back.url).toBe(one.url)
  expect(aboutStores()).toEqual([
    `${one.url} and ${two.url} are over different stores: locks do not exclude one another across them; ` +
      'give both servers the same store (`baton serve --store URL`), or name only one of them',
  ])
})

test('a client that moves between servers over one store says nothing of stores', async () => {
  const store = newStore('shared')
  const [one, two] = [await serve(store), await serve(store)]
  const { ask, aboutStores } = await clientOf([one.url, two.url])
  await ask()
  await one.stop()
  await ask()
  expect(aboutStores()).toEqual([])
})
