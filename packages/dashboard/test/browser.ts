import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

/** Debian's Chromium, and pages of it that note whatever they should not do. */

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const require = createRequire(import.meta.url)
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

export type Scheme = 'light' | 'dark'

/** With a profile of its own that goes with it. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS })
}

export interface WatchedPage {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors on the console, exceptions, and requests to others than the server. */
  readonly complaints: string[]
  /** How often a document was loaded. */
  loads(): number
}

export async function openPage(
  browser: Browser,
  {
    origin,
    scheme = 'light',
    width = 1440,
    height = 900,
  }: { origin: string; scheme?: Scheme; width?: number; height?: number },
): Promise<WatchedPage> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(10_000)
  const page = await context.newPage()
  const complaints: string[] = []
  let loads = 0
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => complaints.push(`thrown: ${error.stack ?? error.message}`))
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (!['data:', 'blob:'].includes(url.protocol) && url.host !== new URL(origin).host) complaints.push(`asked ${url}`)
    if (request.isNavigationRequest()) loads++
  })
  page.on('websocket', (socket) => {
    if (new URL(socket.url()).host !== new URL(origin).host) complaints.push(`streams from ${socket.url()}`)
    if (socket.url().includes('token')) complaints.push('a token in a URL')
  })
  return { page, context, complaints, loads: () => loads }
}

/** What axe finds that is serious or worse, a line each. */
export async function seriousFindings(page: Page): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe)
  const findings = (await page.evaluate(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html.slice(0, 200) + ' ' + failureSummary)))`,
  )) as string[]
  return findings
}
