// needs: chromium
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { killRest } from '../../../test/e2e/cli-process.ts'
import { openBrowser, openPage, type Scheme, seriousFindings, type WatchedPage } from './browser.ts'
import { PAGE, playScene } from './scene.ts'
import { ADMIN, layer, OBSERVER, openStage, RESOURCES, type Stage, seed } from './stage.ts'

/* One server, one browser, one page that is signed in; the tests stand on one another, in this order. */

let stage: Stage
let browser: Browser
let watched: WatchedPage
let page: Page
let scene: Promise<void>
const shots = process.env.SCREENSHOTS ?? mkdtempSync(join(tmpdir(), 'baton-shots-'))

const lock = { operation: 'lock', resource: 'deploy/production', ttlMs: 60_000 }
const url = (hash = '') => `${stage.server.url}/${hash}`
const shown = (text: string | RegExp) => page.getByText(text).first().waitFor()
const listNote = () => page.locator('.list-note > span').first().textContent()
const resourceHash = (resource: string, namespace = 'default') =>
  `#/r/${encodeURIComponent(namespace)}/${encodeURIComponent(resource)}`

async function open(hash: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
}

async function signIn(on: Page, secret: string): Promise<void> {
  await on.getByLabel('Token').fill(secret)
  await on.getByRole('button', { name: 'Sign in' }).click()
}

beforeAll(async () => {
  ;[stage, browser] = await Promise.all([openStage(), openBrowser()])
  await seed(stage)
  watched = await openPage(browser, { origin: stage.server.url })
  page = watched.page
}, 60_000)

afterAll(async () => {
  await browser?.close()
  await stage?.server.stop()
  killRest()
  stage?.remove()
  if (process.env.SCREENSHOTS === undefined) rmSync(shots, { recursive: true })
})

test('whoever has no token is asked for one, and told what is wrong with it', async () => {
  await page.goto(url())
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await signIn(page, 'guessed')
  await shown('The server does not know this token')
  await signIn(page, ADMIN)
  await page.getByRole('table', { name: 'Resources' }).waitFor()
  expect(page.url()).not.toContain(ADMIN)
  // The browser itself notes every answer that is no success.
  expect(watched.complaints.splice(0).every((complaint) => complaint.includes('401'))).toBe(true)
})

test('of ten thousand resources only those in view are rendered', async () => {
  await page.reload()
  await page.locator('.row').first().waitFor()
  await expect.poll(listNote, { timeout: 25_000 }).toBe(`${RESOURCES.toLocaleString('en')} resources`)
  expect(await page.locator('.row').count()).toBeLessThan(60)
})

test('ten thousand resources are filtered by text, state, namespace and node', async () => {
  const count = async () => Number((await listNote())?.match(/^[\d,]+/)?.[0].replace(',', ''))
  const counts = (expected: number) => expect.poll(count, { timeout: 5_000 }).toBe(expected)
  await page.keyboard.press('/')
  await page.keyboard.type(layer(4_321).slice(7, 17))
  await counts(1)
  await page.locator('.row', { hasText: layer(4_321).slice(-8) }).waitFor()
  await page.keyboard.press('Escape')
  await counts(RESOURCES)
  await page.getByRole('button', { name: /^Held \d/ }).click()
  await counts(RESOURCES / 8)
  await page.getByLabel('Namespace').selectOption('staging')
  await counts(RESOURCES / 40)
  await page.getByLabel(/^Node/).fill('node-8')
  await counts(0)
  await page.getByLabel(/^Node/).fill('node-0')
  await counts(RESOURCES / 40)
  expect(page.url()).toContain('state=held')
  await page.getByRole('button', { name: 'Clear' }).click()
  await counts(RESOURCES)
})

test('the keys go through the list, into a resource and back', async () => {
  await page.getByLabel('Search').focus()
  await page.keyboard.press('ArrowDown')
  const index = () => page.evaluate(`document.activeElement?.closest('.row')?.dataset.index`)
  await expect.poll(index, { timeout: 5_000 }).toBe('0')
  for (const [key, at] of [
    ['ArrowDown', '1'],
    ['End', String(RESOURCES - 1)],
    ['Home', '0'],
  ] as const) {
    await page.keyboard.press(key)
    await expect.poll(index, { message: key, timeout: 5_000 }).toBe(at)
  }
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Holder' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('table', { name: 'Resources' }).waitFor()
})

test('a hand-over is seen while it happens, and why somebody waits is said', async () => {
  scene = playScene(stage)
  const { fence } = await stage.post('/v1/acquire', { ...lock, node: 'node-a' })
  await open(resourceHash(lock.resource))
  await shown('Nobody waits: whoever holds it is alone.')
  await stage.post('/v1/acquire', { ...lock, node: 'node-b' })
  await stage.post('/v1/acquire', { ...lock, node: 'node-c' })
  await page.getByRole('heading', { name: 'Why is this waiting?' }).waitFor()
  await shown(/^Held by node-a for \d/)
  await expect
    .poll(() => page.locator('.queue tbody tr').allTextContents())
    .toEqual([expect.stringMatching(/^1node-block/), expect.stringMatching(/^2node-clock/)])
  const loads = watched.loads()
  await stage.post('/v1/release', { ...lockOf('node-a', fence), outcome: 'success' })
  await stage.post('/v1/acquire', { ...lock, node: 'node-b' })
  await page.locator('.holder', { hasText: 'node-b' }).waitFor()
  await shown(/^Held by node-b for \d/)
  await page.locator('.event.hand-over', { hasText: 'node-b is handed the baton' }).waitFor()
  expect(await page.locator('g.grant-bar').count()).toBe(2)
  expect(watched.loads()).toBe(loads)
})

const lockOf = (owner: string, fence: number) => ({ operation: 'lock', resource: lock.resource, owner, fence })

test('an admin revokes a grant, having read what will happen', async () => {
  await page.getByRole('button', { name: 'Revoke …' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('node-c, the first in line, is granted at once.').waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect((await stage.get(`/v1/resource?resource=${lock.resource}`)).resource.grants[0].node).toBe('node-b')
  await page.getByRole('button', { name: 'Revoke …' }).click()
  await dialog.getByRole('button', { name: 'Revoke it' }).click()
  await dialog.getByText('Done: 1 of 1.').waitFor()
  await stage.post('/v1/acquire', { ...lock, node: 'node-c' })
  await dialog.getByRole('button', { name: 'Close' }).click()
  await page.locator('.holder', { hasText: 'node-c' }).waitFor()
  const { resource } = await stage.get(`/v1/resource?resource=${lock.resource}`)
  expect(resource.recent).toMatchObject([{ node: 'node-b', outcome: { outcome: 'revoked' } }])
})

test('what a filter shows is forgotten as a whole, once its number was typed', async () => {
  const prefix = '9f'
  await open(`#/?q=sha256%3A${prefix}&state=kept&namespace=staging`)
  const isMeant = (number: number) => number % 5 === 0 && number % 8 !== 0 && layer(number).includes(`sha256:${prefix}`)
  const meant = Array.from({ length: RESOURCES }, (_, number) => number).filter(isMeant)
  await page.getByRole('button', { name: `Forget these ${meant.length} …` }).click()
  const dialog = page.getByRole('dialog', { name: `Forget ${meant.length} kept successes?` })
  const button = dialog.getByRole('button', { name: 'Forget' })
  expect(await button.isDisabled()).toBe(true)
  await dialog.getByLabel(/to confirm$/).fill(String(meant.length))
  await button.click()
  await dialog.getByText(`Done: ${meant.length} of ${meant.length}.`).waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()
  const path = `/v1/resource?namespace=staging&resource=${layer(meant[0]!)}`
  expect((await stage.get(path)).resource.kept).toEqual([])
  await shown('Nothing is as the filter wants it.')
})

test('a silent holder is shown as stuck, with the reason, wherever one looks', async () => {
  const ask = { operation: 'once', resource: 'report/monthly', ttlMs: 6_000 }
  await stage.post('/v1/acquire', { ...ask, node: 'node-gone' })
  for (const node of ['node-d', 'node-e']) await stage.post('/v1/acquire', { ...ask, node, ttlMs: 60_000 })
  await open('#/')
  const attention = page.getByRole('region', { name: 'Needs attention' })
  await attention
    .getByText(/2 wait: held by node-gone for .*; node-gone has not renewed for .*, its lease ends in/)
    .waitFor()
  expect(await page.title()).toMatch(/^\(\d stuck\) Baton$/)
  await page.locator('.row.stuck', { hasText: 'report/monthly' }).waitFor()
})

test('who may only look sees no button that acts', async () => {
  const other = await openPage(browser, { origin: stage.server.url })
  await other.page.goto(url(resourceHash(lock.resource)))
  await signIn(other.page, OBSERVER)
  await other.page.locator('.holder').waitFor()
  expect(await other.page.getByRole('button', { name: /Revoke|Forget|Drop/ }).count()).toBe(0)
  await other.page.getByRole('button', { name: 'Sign out' }).click()
  await other.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  expect(await other.page.evaluate('sessionStorage.length')).toBe(0)
  await other.context.close()
})

/** Those that docs/dashboard.md shows. */
const PICTURES = new Set(['list-light', 'list-dark', 'resource-light', 'list-narrow'])

test.each<[Scheme, number]>([
  ['light', 1440],
  ['dark', 1440],
  ['light', 390],
])('nothing serious is found by axe on any view: %s, %d wide', async (scheme, width) => {
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
  await page.setViewportSize({ width, height: 900 })
  await scene
  const name = width < 500 ? 'narrow' : scheme
  for (const [view, hash, seen] of [
    ['list', '#/', '.row'],
    ['resource', resourceHash(PAGE), 'g.grant-bar'],
    ['events', '#/events', '.event'],
  ] as const) {
    await open(hash)
    await page.locator(seen).first().waitFor()
    expect(await seriousFindings(page), `${view} ${name}`).toEqual([])
    if (PICTURES.has(`${view}-${name}`)) await page.screenshot({ path: join(shots, `dashboard-${view}-${name}.png`) })
  }
  await page.setViewportSize({ width: 1440, height: 900 })
})

test('ids and errors of others are text, and cannot hide anything', async () => {
  const hostile = '<img src=x onerror=alert(1)>\u202egnp.exe'
  const { fence } = await stage.post('/v1/acquire', { operation: 'once', resource: hostile, node: '"><b>n' })
  await stage.post('/v1/release', {
    operation: 'once',
    resource: hostile,
    owner: '"><b>n',
    fence,
    outcome: 'failure',
    error: '<script>\u001b[2J',
  })
  await open(resourceHash(hostile))
  await page.locator('.outcome', { hasText: 'failure: <script> [2J' }).waitFor()
  expect(await page.locator('h1').textContent()).toBe('<img src=x onerror=alert(1)>\\u202egnp.exe')
  expect(await page.locator('main img, main b, main script').count()).toBe(0)
})

test('a server that goes away is missed, and found again', async () => {
  await open('#/')
  const complaints = watched.complaints.splice(0)
  await stage.server.stop()
  await page.getByRole('alert').getByText('Not connected').waitFor()
  const tryNow = page.getByRole('button', { name: 'Try now' })
  await tryNow.click()
  await page.getByRole('alert').getByText('Not connected').waitFor()
  const again = await stage.restart()
  // The page may reconnect before this click, and take the button away.
  await tryNow.click({ timeout: 2_000 }).catch(() => undefined)
  await shown('Nothing is held, waited for, used or kept.')
  // It was away: that is no fault of the page.
  watched.complaints.length = 0
  await again.stop()
  expect(complaints).toEqual([])
}, 20_000)
