// needs: chromium
import { expect, test } from 'vitest'
import { openBrowser, openPage } from '../../packages/dashboard/test/browser.ts'
import { ADMIN, openStage, seed } from '../../packages/dashboard/test/stage.ts'
import { killRest } from '../e2e/cli-process.ts'

test('the first paint of ten thousand resources takes less than a second', async () => {
  const stage = await openStage()
  const browser = await openBrowser()
  try {
    await seed(stage)
    const { page } = await openPage(browser, { origin: stage.server.url })
    await page.goto(stage.server.url)
    await page.getByLabel('Token').fill(ADMIN)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.row').first().waitFor()
    await page.reload()
    await page.locator('.row').first().waitFor()
    const paintMs = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime)
    expect(paintMs).toBeLessThan(1_000)
  } finally {
    await browser.close()
    await stage.server.stop()
    killRest()
    stage.remove()
  }
}, 60_000)
