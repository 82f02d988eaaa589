import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Markdown as tests look at it: its code, its links, its headings. */

export const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Block {
  readonly language: string
  readonly text: string
  /** The heading that it stands below. */
  readonly heading: string
}

export interface Page {
  readonly text: string
  readonly blocks: readonly Block[]
  /** Code within sentences and tables, in order. */
  readonly spans: readonly string[]
  /** Where links and images lead, in order. */
  readonly links: readonly string[]
  /** What can be linked to within it. */
  readonly anchors: ReadonlySet<string>
  readonly headings: readonly string[]
}

const FENCE = /^( *)```(\w*)[^\n]*\n([\s\S]*?)^\1```$/gm
const HEADING = /^#{1,6} (.+)$/gm

export function readPage(path: string): Page {
  return pageOf(readFileSync(join(root, path), 'utf8'))
}

export function pageOf(text: string): Page {
  // Code has neither links nor headings. All that is beside it stays where it is.
  const prose = text.replaceAll(FENCE, (block) => block.replaceAll(/[^\n]/g, ' '))
  const headings = [...prose.matchAll(HEADING)].map(([, heading]) => heading!)
  const blocks = [...text.matchAll(FENCE)].map(({ 2: language = '', 3: code = '', index }) => {
    const before = [...prose.slice(0, index).matchAll(HEADING)]
    return { language, text: code, heading: before.at(-1)?.[1] ?? '' }
  })
  const withoutSpans = prose.replaceAll(/`[^`\n]+`/g, '``')
  return {
    text,
    blocks,
    spans: [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!),
    links: [...withoutSpans.matchAll(/\]\(([^)\s]+)\)|(?:href|src(?:set)?)="([^"]+)"/g)].map(
      ([, markdown, html]) => markdown ?? html!,
    ),
    anchors: anchorsOf(headings, prose),
    headings,
  }
}

/** As GitHub makes them: in lower case, without punctuation, and with a number where one comes again. */
function anchorsOf(headings: readonly string[], prose: string): ReadonlySet<string> {
  const anchors = new Set([...prose.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id!))
  for (const heading of headings) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
    const anchor = plain.replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '').replaceAll(' ', '-')
    let free = anchor
    for (let count = 1; anchors.has(free); count++) free = `${anchor}-${count}`
    anchors.add(free)
  }
  return anchors
}
