import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runScenario } from './scenario.ts'

const folder = new URL('.//', import.meta.url)

for (const file of readdirSync(folder)
  .filter((name) => name.endsWith('.txt'))
  .sort()) {
  test(file.replace(/\.txt$/, '').replaceAll('-', ' '), async () => {
    const path = new URL(file, folder)
    const expected = readFileSync(path, 'utf8')
    const actual = await runScenario(expected)
    // `npm run scenarios:rewrite` writes the present output; the diff is what gets reviewed.
    if (process.env.REWRITE) writeFileSync(path, actual)
    else expect(actual).toBe(expected)
  })
}
